import { beforeEach, expect, it } from '@jest/globals';
import { toJobEntity } from '../../../../src/export-jobs/adapters/dynamodb/job-row.schema.js';
import { UnreadableRows } from '../../../../src/export-jobs/adapters/dynamodb/unreadable-rows.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { type FakeClock } from '../../../support/fake-clock.js';

let clock: FakeClock;
let logger: RecordingLogger;
let rows: UnreadableRows;
beforeEach(() => {
  clock = newClock();
  logger = new RecordingLogger();
  rows = new UnreadableRows(clock, logger);
});

const meet = (row: Record<string, unknown>) => {
  try {
    toJobEntity(row);
  } catch (error) {
    rows.report(row, error);
  }
};
const turnsOfAnHour = async (row: (turn: number) => Record<string, unknown>) => {
  for (let turn = 0; turn < 120; turn++) {
    meet(row(turn));
    await clock.advance(30_000);
  }
};

onEachClock('a job row that cannot be read', () => {
  it('says of a row that stays unreadable where it is wrong, once an hour', async () => {
    await turnsOfAnHour(() => ({ jobId: 'a', v: 2 }));
    expect(logger.events).toHaveLength(1);
    expect(logger.events[0]).toMatchObject({ level: 'error', fields: { jobId: 'a', version: 2 } });
    expect(logger.events[0]?.fields.issues).toContain('v: invalid_value');
    await turnsOfAnHour(() => ({ jobId: 'a', v: 2 }));
    expect(logger.events).toHaveLength(2);
  });

  it('says nothing more while a newer version counts into it', async () => {
    await turnsOfAnHour((turn) => ({ jobId: 'a', v: 2, completedTasks: turn, updatedAt: `turn ${turn}` }));
    expect(logger.events).toHaveLength(1);
  });

  it('speaks up at once when it is wrong in another way, and of each row by itself', () => {
    meet({ jobId: 'a', v: 2 });
    meet({ jobId: 'b', v: 2 });
    meet({ jobId: 'a', v: 3 });
    expect(logger.events.map(({ fields }) => [fields.jobId, fields.version])).toEqual([
      ['a', 2],
      ['b', 2],
      ['a', 3],
    ]);
  });

  it('shows nothing of what stands in the row', () => {
    meet({ jobId: 'a', v: 1, taskToken: 7, metadata: '{"secret":', status: 'a secret' });
    expect(JSON.stringify(logger.events)).not.toContain('secret');
  });
});
