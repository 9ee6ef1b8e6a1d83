import { toLoggable } from '../../shared/index.js';
import { TransferError } from '../domain/transfer-error.js';
import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';
import type { FromThreadMessage } from '../protocol/thread-messages.schema.js';
import { SilenceWatch } from './silence-watch.js';
import type { Transfer } from './transfer.js';

const PROGRESS_INTERVAL_MS = 1_000;

/** The tasks one thread has in hand, each with the controller that ends it. */
export class TaskRunner {
  private readonly silence: SilenceWatch;
  private readonly running = new Map<string, { work: AbortController; done: Promise<void> }>();

  constructor(
    private readonly transfer: Transfer,
    private readonly taskTimeoutMs: number,
    private readonly send: (message: FromThreadMessage) => void,
  ) {
    this.silence = new SilenceWatch(send);
  }

  start(task: TransferTask): void {
    const work = new AbortController();
    this.running.set(task.taskId, { work, done: this.run(task, work) });
  }

  /** A task that is not in hand has already answered. */
  abort(taskId: string, reason: string): void {
    this.running.get(taskId)?.work.abort(new TransferError('ABORTED', reason, { retryable: true }));
  }

  /** Ends every task; resolves when all have answered. */
  async close(): Promise<void> {
    for (const taskId of this.running.keys()) this.abort(taskId, 'the worker is shutting down');
    await Promise.all([...this.running.values()].map(({ done }) => done));
  }

  private async run(task: TransferTask, work: AbortController): Promise<void> {
    const { taskId, jobId } = task;
    const timeout = setTimeout(
      () => work.abort(new TransferError('TASK_TIMEOUT', `not done within ${this.taskTimeoutMs / 1_000} s`, { retryable: true })),
      this.taskTimeoutMs,
    );
    let bytes = 0;
    let reportedAt = performance.now();
    const onBytes = (total: number) => {
      bytes = total;
      if (performance.now() - reportedAt < PROGRESS_INTERVAL_MS) return;
      reportedAt = performance.now();
      this.send({ type: 'TASK_PROGRESS', payload: { taskId, bytes } });
    };
    const onRead = () => this.send({ type: 'TASK_READ', payload: { taskId } });
    const wait = this.silence.of(taskId);
    const outcome = await this.transfer.run(task, work, { onBytes, onRead, wait }).catch((error: unknown) => failed(error, bytes));
    clearTimeout(timeout);
    this.silence.end(wait);
    this.running.delete(taskId);
    this.send({ type: 'TASK_COMPLETED', payload: { taskId, jobId, ...outcome } });
  }
}

function failed(error: unknown, bytesProcessed: number): TaskOutcome {
  if (error instanceof TransferError) return { success: false, bytesProcessed, error: error.toFailure() };
  // A bug or a broken runtime: its name and message are all that may be told.
  const { name, message } = toLoggable(error);
  return { success: false, bytesProcessed, error: { code: 'INTERNAL', message: `${name}: ${message}`, retryable: true } };
}
