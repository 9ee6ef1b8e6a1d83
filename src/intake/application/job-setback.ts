import { AppError, isRefusedByStore, toLoggable } from '../../shared/index.js';

/**
 * What one job alone stands on, its list or its bucket, failed and may work later. The job's message
 * comes again; no other job is taken in any slower for it.
 */
export class JobSetback extends AppError {
  constructor(cause: unknown) {
    const { code, name, message } = toLoggable(cause);
    super(code ?? name, message, { disposition: 'retry', cause });
    this.name = 'JobSetback';
  }
}

/**
 * What is to be thrown for a write to the job's bucket that failed: the error itself when the bucket
 * refuses, which is given some seconds, or when the write was aborted.
 */
export function setbackOfWrite(error: unknown, signal: AbortSignal): unknown {
  return isRefusedByStore(error) || signal.aborted ? error : new JobSetback(error);
}
