import { beforeEach, expect, it } from '@jest/globals';
import { UploadReaper } from '../../../src/worker-pool/adapters/upload-reaper.js';
import type { TaskUpload } from '../../../src/worker-pool/domain/task-upload.js';
import { newClock, onEachClock } from '../../support/each-clock.js';
import { settled, type FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/fakes/recording-logger.js';

const upload = (uploadId: string): TaskUpload => ({ taskId: 'task', bucket: 'bucket', key: 'key', uploadId });
const LEFT = 'A multipart upload stays open until the lifecycle rule of its bucket ends it';

onEachClock('UploadReaper', () => {
  let clock: FakeClock;
  let logger: RecordingLogger;
  /** Ids as they are asked to be aborted. */
  let asked: string[];
  let abortUpload: (upload: TaskUpload, signal: AbortSignal) => Promise<void>;
  let reaper: UploadReaper;

  beforeEach(() => {
    clock = newClock();
    logger = new RecordingLogger();
    asked = [];
    abortUpload = async () => {};
    const s3 = {
      abortUpload: (left: TaskUpload, signal: AbortSignal) => {
        asked.push(left.uploadId);
        return abortUpload(left, signal);
      },
    };
    reaper = new UploadReaper(s3, clock, logger);
  });

  it('aborts at once what was left open, each upload once', async () => {
    reaper.reap(upload('a'));
    reaper.reap(upload('b'));
    await settled();
    expect(asked).toEqual(['a', 'b']);
    await reaper.close(clock.monotonicMs() + 1_000);
    expect(logger.messages('warn')).toEqual([]);
    expect(clock.sleepers).toBe(0);
  });

  it('tries again, ever later, while S3 does not listen', async () => {
    let failures = 4;
    abortUpload = async () => {
      if (failures-- > 0) throw new Error('503');
    };
    reaper.reap(upload('a'));
    await clock.advance(60_000);
    expect(asked).toHaveLength(5);
    expect(logger.messages('warn')).toEqual([]);
    expect(logger.messages('info')).toHaveLength(1);
  });

  it('gives an upload up after some tries, and says which', async () => {
    abortUpload = () => Promise.reject(new Error('denied'));
    reaper.reap(upload('a'));
    await clock.advance(600_000);
    expect(asked).toHaveLength(10);
    expect(logger.events).toMatchObject([{ level: 'warn', message: LEFT, fields: { bucket: 'bucket', key: 'key', uploadId: 'a' } }]);
    expect(clock.sleepers).toBe(0);
  });

  it('waits at its end for the aborts that are under way', async () => {
    abortUpload = () => clock.sleep(900);
    reaper.reap(upload('a'));
    const closed = reaper.close(clock.monotonicMs() + 1_000);
    await clock.advance(900);
    await closed;
    expect(logger.messages('warn')).toEqual([]);
  });

  it('ends in time though S3 answers nothing, or nothing but errors', async () => {
    abortUpload = ({ uploadId }, signal) =>
      uploadId === 'refused'
        ? Promise.reject(new Error('503'))
        : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    reaper.reap(upload('silent'));
    reaper.reap(upload('refused'));
    const closed = reaper.close(clock.monotonicMs() + 1_000);
    await clock.advance(1_000);
    await closed;
    expect(logger.messages('warn')).toEqual([LEFT, LEFT]);
    expect(clock.sleepers).toBe(0);
  });
});
