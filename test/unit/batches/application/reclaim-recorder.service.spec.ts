import { beforeEach, expect, it, jest } from '@jest/globals';
import { ReclaimRecorderService } from '../../../../src/batches/application/reclaim-recorder.service.js';
import { aReclaim } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { settled, type FakeClock } from '../../../support/fake-clock.js';
import type { Fault } from '../../../support/fakes/gate.js';
import { InMemoryReclaimHistory } from '../../../support/fakes/in-memory-reclaim-history.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

const STOP_LIMIT_MS = 1_000;

let clock: FakeClock;
let logger: RecordingLogger;
let history: InMemoryReclaimHistory;
let recorder: ReclaimRecorderService;

beforeEach(() => {
  clock = newClock();
  logger = new RecordingLogger();
  history = new InMemoryReclaimHistory();
  recorder = new ReclaimRecorderService(history, clock, logger);
});

const recorded = () => history.records.map(({ batchNo }) => batchNo);
const missing = () => logger.events.filter(({ message }) => message === 'A reclaim is missing in the history');
const missed = () => missing().map(({ fields }) => fields.batchNo);
function add(...batchNos: number[]): void {
  for (const batchNo of batchNos) recorder.add(aReclaim({ batchNo }));
}
/** The next so many writes hang in the network. */
const hang = (writes: number) => history.gate.next('recordReclaim', ...Array<Fault>(writes).fill(() => deferred().promise));
async function stopping() {
  const stopped = jest.fn<() => void>();
  const stop = recorder.stop().then(stopped);
  await settled();
  return { stopped, stop };
}

onEachClock('the stop of the reclaim recorder', () => {
  it('ends at once when nothing is under way', async () => {
    await recorder.stop();
    await recorder.stop();
    expect([clock.sleepers, logger.events]).toEqual([0, []]);
  });

  it('waits for what is under way, and for what waits behind it', async () => {
    const table = deferred();
    history.gate.next('recordReclaim', ...Array<Fault>(8).fill(() => table.promise));
    add(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    const { stopped, stop } = await stopping();
    await clock.advance(STOP_LIMIT_MS - 1);
    expect(stopped).not.toHaveBeenCalled();
    table.resolve();
    await stop;
    expect(recorded()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([clock.sleepers, logger.events]).toEqual([0, []]);
  });

  it('waits for the next try of what failed', async () => {
    history.gate.next('recordReclaim', 'unavailable');
    add(0);
    const { stop } = await stopping();
    await clock.advance(500);
    await stop;
    expect([recorded(), missed()]).toEqual([[0], []]);
  });

  it('takes a second at most, however slow the table is: what is not written by then is told', async () => {
    hang(8);
    add(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    const { stopped, stop } = await stopping();
    await clock.advance(STOP_LIMIT_MS - 1);
    expect(stopped).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(stopped).toHaveBeenCalled();
    await stop;
    expect(missed()).toHaveLength(10);
    expect(new Set(missed())).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    expect([recorded(), clock.sleepers]).toEqual([[], 0]);
  });

  it('begins no further try when its time is over, and tells why the last one failed', async () => {
    history.gate.next('recordReclaim', 'unavailable', 'unavailable');
    add(0);
    await clock.advance(499);
    const { stopped } = await stopping();
    await clock.advance(STOP_LIMIT_MS);
    expect(stopped).toHaveBeenCalled();
    expect(missing().map(({ fields }) => fields.error)).toMatchObject([{ message: 'recordReclaim is unavailable' }]);
    expect([recorded(), clock.sleepers]).toEqual([[], 0]);
  });
});
