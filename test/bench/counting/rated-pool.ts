import { TransferPool, type TaskOutcome } from '../../../src/worker-pool/index.js';
import { settled } from '../../support/fake-clock.js';

const DONE: TaskOutcome = { success: true, bytesProcessed: 4_096, etag: '"etag"', sha256: 'sha' };

/** A pool whose tasks all succeed, as many at a time as it is told to. */
export class RatedPool extends TransferPool {
  private running: ((outcome: TaskOutcome) => void)[] = [];

  constructor(readonly capacity: number) {
    super();
  }

  run(): Promise<TaskOutcome> {
    return new Promise((resolve) => void this.running.push(resolve));
  }

  /** Ends so many tasks, those begun meanwhile included, as long as there are any. */
  async succeed(count: number): Promise<void> {
    for (let left = count; left > 0 && this.running.length > 0;) {
      const wave = this.running.splice(0, left);
      left -= wave.length;
      for (const end of wave) end(DONE);
      await settled();
    }
  }
}
