import { mergedHeaders, type MonotonicMs } from '../../shared/index.js';
import type { TaskOutcome } from '../../worker-pool/index.js';
import { resultsInOrder, type Segment, type TaskResult } from './batch-files.port.js';
import type { RunningBatch } from './running-batch.js';
import type { TaskSource } from './task-source.js';

/** The tasks of a running batch: hands out what its checkpoint lacks, records what comes back. */
export class BatchTasks implements TaskSource {
  readonly jobId: string;
  readonly run: number;
  readonly maxConcurrency: number | undefined;
  readonly signal: AbortSignal;
  /** Set when no more tasks are brought because the destination refuses them: what it refuses, and why. */
  destinationRefusal: string | undefined;
  private readonly pending: number[];
  /** How many of those handed out, or to be handed out now, are not recorded yet. */
  private open = 0;
  private toHandOut = 0;
  private readonly fresh = new Map<number, TaskResult>();
  private settle: () => void = () => undefined;

  constructor(
    private readonly running: RunningBatch,
    private readonly segment: Segment,
    readonly hasStored: boolean,
  ) {
    this.jobId = running.lease.jobId;
    this.run = running.lease.run;
    this.maxConcurrency = segment.maxConcurrency;
    this.signal = running.signal;
    this.pending = running.checkpoint.pending().toReversed();
    this.signal.addEventListener('abort', () => this.settle(), { once: true });
  }

  /** Whether tasks are left that have not been admitted. */
  get hasMore(): boolean {
    return this.pending.length > this.toHandOut;
  }

  /** The next so many tasks may run. Resolves when they are recorded, the work was stopped, or the destination refuses it. */
  admit(tasks: number): Promise<void> {
    this.toHandOut = Math.min(tasks, this.pending.length);
    this.open = this.toHandOut;
    if (this.open === 0 || this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  next(): ReturnType<TaskSource['next']> {
    const position = this.signal.aborted || this.toHandOut === 0 ? undefined : this.pending.pop();
    if (position === undefined) return undefined;
    this.toHandOut--;
    const { bucket, prefix, headers, expectContentType, firstIndex, tasks } = this.segment;
    const task = tasks[position];
    if (task === undefined) throw new Error(`Segment of batch ${this.running.lease.batchNo} has no task ${position}`);
    const { url, key, size, checksum } = task;
    const allHeaders = mergedHeaders(headers ?? {}, task.headers ?? {});
    return {
      position,
      task: {
        taskId: `${this.jobId}#${this.running.lease.batchNo}#${firstIndex + position}`,
        jobId: this.jobId,
        url,
        s3Bucket: bucket,
        s3Key: prefix + key,
        ...(size === undefined ? {} : { size }),
        ...(checksum === undefined ? {} : { checksum }),
        ...(Object.keys(allHeaders).length === 0 ? {} : { headers: allHeaders }),
        ...(expectContentType === undefined ? {} : { expectContentType }),
      },
    };
  }

  /** Also after an abort: a task that finished all the same is worth its place in the last checkpoint. */
  onResult(position: number, outcome: TaskOutcome, attempts: number, durationMs: number): void {
    const { checkpoint } = this.running;
    if (outcome.success) {
      const { etag, sha256, bytesProcessed: size } = outcome;
      this.fresh.set(position, { success: true, position, size, etag, sha256: sha256 ?? null, attempts, durationMs });
      checkpoint.succeed(position, size);
    } else {
      const { code, message, httpStatus } = outcome.error;
      this.fresh.set(position, { success: false, position, code, message, httpStatus: httpStatus ?? null, attempts });
      checkpoint.fail(position, code);
    }
    this.running.noteActivity();
    if (--this.open === 0) this.settle();
  }

  onProgress(position: number, bytes: number): void {
    this.running.inHand.arrives(position, bytes);
    this.running.noteActivity();
  }

  onTryEnd(position: number): void {
    this.running.inHand.ends(position);
  }

  onPause(host: string | undefined, until: MonotonicMs): void {
    this.running.inHand.waits(host, until);
  }

  onDestinationRefused(message: string): void {
    this.destinationRefusal = message;
    this.settle();
  }

  /** One result per task, in order; `describeDone` knows those that an earlier holder brought. */
  async results(describeDone: (position: number) => Promise<TaskResult>): Promise<TaskResult[]> {
    const { checkpoint } = this.running;
    return resultsInOrder(checkpoint.totalTasks, checkpoint.whole().failures, this.fresh, describeDone);
  }
}
