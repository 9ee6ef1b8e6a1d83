import { isOfAttempt, type StoredObject } from '../domain/object-metadata.js';
import type { TransferTask } from '../domain/transfer-task.js';
import type { ObjectCalls } from './object-store.js';

/** Jobs that are remembered; a forgotten one learns again from its next task. */
const MAX_JOBS = 100;

/**
 * What is under the keys of tasks already. In a job's first run that is nothing, so nobody asks: a small file is put where the key is free
 * (single-put.ts). In a later run it is nearly everything; from the first key on that is found taken, the job's keys are looked at before
 * their sources are asked.
 */
export class ExistingObjects {
  private readonly jobs = new Set<string>();

  constructor(private readonly store: Pick<ObjectCalls, 'head'>) {}

  areLikely({ jobId }: TransferTask): boolean {
    return this.jobs.has(jobId);
  }

  /**
   * Undefined when there is none, or when we may not or cannot see it. Does not reject.
   * @param attemptId of an object that may be there because its own answer was lost: that says nothing of the job's other keys
   */
  async look({ jobId, s3Bucket, s3Key }: TransferTask, signal: AbortSignal, attemptId?: string): Promise<StoredObject | undefined> {
    const stored = await this.store.head({ bucket: s3Bucket, key: s3Key }, signal);
    const isOwn = stored !== undefined && attemptId !== undefined && isOfAttempt(stored, attemptId);
    if (stored !== undefined && !isOwn) this.remember(jobId);
    return stored;
  }

  private remember(jobId: string): void {
    this.jobs.delete(jobId);
    this.jobs.add(jobId);
    const [oldest] = this.jobs;
    if (this.jobs.size > MAX_JOBS && oldest !== undefined) this.jobs.delete(oldest);
  }
}
