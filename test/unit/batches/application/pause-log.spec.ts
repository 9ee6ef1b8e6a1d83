import { beforeEach, expect, it } from '@jest/globals';
import { PauseLog } from '../../../../src/batches/application/pause-log.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

let clock: FakeClock;
let logger: RecordingLogger;
let pauses: PauseLog;

beforeEach(() => {
  clock = new FakeClock();
  logger = new RecordingLogger();
  pauses = new PauseLog(clock, logger);
});

const tell = (forMs: number, host = 'h.test') => pauses.tell(host, forMs, clock.monotonicMs());
const told = () => logger.events.map(({ fields }) => [fields['host'], fields['forS']]);

it('says which host is left alone, until when and for how long', () => {
  tell(300_000);
  expect(logger.events).toEqual([
    {
      level: 'info',
      message: 'A host asks for patience: its files wait until then, and are asked for again',
      fields: { host: 'h.test', until: '2026-01-01T00:05:00.000Z', forS: 300 },
    },
  ]);
});

it('writes one line for a pause, however many answers ask for it, and one for each host', async () => {
  tell(30_000);
  await clock.advance(2_000);
  tell(30_000);
  tell(28_000);
  tell(30_000, 'other.test');
  expect(told()).toEqual([
    ['h.test', 30],
    ['other.test', 30],
  ]);
});

it('writes another line for a pause that becomes longer, and for the next one', async () => {
  tell(10_000);
  tell(300_000);
  await clock.advance(300_000);
  tell(0);
  tell(10_000);
  expect(told()).toEqual([
    ['h.test', 10],
    ['h.test', 300],
    ['h.test', 10],
  ]);
});

it('writes one line in 10 s for a host that asks for a second again and again', async () => {
  for (let second = 0; second < 25; second++) {
    tell(1_000);
    await clock.advance(1_000);
  }
  expect(told()).toHaveLength(3);
});
