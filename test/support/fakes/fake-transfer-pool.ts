import {
  TransferPool,
  type RunTaskOptions,
  type TaskFailure,
  type TaskOutcome,
  type TransferTask,
} from '../../../src/worker-pool/index.js';
import { settled } from '../fake-clock.js';

type FakeFailure = Partial<TaskFailure> & Pick<TaskFailure, 'code' | 'retryable'> & { bytesProcessed?: number };

interface RunningTask {
  task: TransferTask;
  options: RunTaskOptions;
  end: (outcome: TaskOutcome) => void;
}

/** Each task runs until the test ends it, or its signal is aborted. */
export class FakeTransferPool extends TransferPool {
  readonly started: TransferTask[] = [];
  #running: RunningTask[] = [];
  mostAtOnce = 0;
  /** A hung thread: it does not let go of its tasks. */
  ignoresAbort = false;

  constructor(public capacity: number) {
    super();
  }

  get running(): TransferTask[] {
    return this.#running.map(({ task }) => task);
  }

  /** Of those that run, the ones on a thread of their own. */
  get alone(): TransferTask[] {
    return this.#running.filter(({ options }) => options.alone === true).map(({ task }) => task);
  }

  run(task: TransferTask, options: RunTaskOptions): Promise<TaskOutcome> {
    this.started.push(task);
    return new Promise((resolve) => {
      const running: RunningTask = {
        task,
        options,
        end: (outcome) => {
          this.#running = this.#running.filter((other) => other !== running);
          resolve(outcome);
        },
      };
      this.#running.push(running);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#running.length);
      const abort = () => running.end(failure({ code: 'ABORTED', retryable: false }));
      if (!this.ignoresAbort) options.signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** Ends the oldest running task whose key ends so (any, when none is given) with success and 10 bytes. */
  succeed(keyEnd = ''): Promise<void> {
    return this.#end(keyEnd, { success: true, bytesProcessed: 10, etag: '"etag"', sha256: 'sha' });
  }

  /** The object was there already, so the source was not asked. */
  leaveAlone(keyEnd = ''): Promise<void> {
    return this.#end(keyEnd, { success: true, skipped: true, bytesProcessed: 0, etag: '"etag"' });
  }

  fail({ bytesProcessed = 0, ...error }: FakeFailure, keyEnd = ''): Promise<void> {
    return this.#end(keyEnd, { ...failure(error), bytesProcessed });
  }

  /** Until no task runs any more, those started meanwhile included. */
  async succeedAll(): Promise<void> {
    while (this.#running.length > 0) await this.succeed();
  }

  /** The source of the oldest running task whose key ends so has been read; the task goes on. */
  async read(keyEnd = ''): Promise<void> {
    this.#find(keyEnd).options.onRead?.();
    await settled();
  }

  /** The source of the oldest running task whose key ends so has sent nothing for a while. */
  async silent(keyEnd = ''): Promise<void> {
    this.#find(keyEnd).options.onSilent?.();
    await settled();
  }

  /** It sends again. */
  async heard(keyEnd = ''): Promise<void> {
    this.#find(keyEnd).options.onHeard?.();
    await settled();
  }

  progress(bytes: number): void {
    for (const { options } of this.#running) options.onProgress?.(bytes);
  }

  async #end(keyEnd: string, outcome: TaskOutcome): Promise<void> {
    this.#find(keyEnd).end(outcome);
    await settled();
  }

  #find(keyEnd: string): RunningTask {
    const running = this.#running.find(({ task }) => task.s3Key.endsWith(keyEnd));
    if (running === undefined) throw new Error(`no task ${keyEnd} runs`);
    return running;
  }
}

function failure(error: Partial<TaskFailure> & Pick<TaskFailure, 'code' | 'retryable'>): TaskOutcome {
  return { success: false, bytesProcessed: 0, error: { message: `failed with ${error.code}`, ...error } };
}
