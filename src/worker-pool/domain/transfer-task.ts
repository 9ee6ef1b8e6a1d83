import type { Checksum } from '../../shared/index.js';

/** A host that asked for patience; its name as of `hostOf`. */
export interface PausedHost {
  host: string;
  forMs: number;
}

/** One file to bring from `url` to `s3://s3Bucket/s3Key`. */
export interface TransferTask {
  /** `jobId#batchNo#index`: unique among the tasks in hand. */
  taskId: string;
  jobId: string;
  /** http, https or s3. */
  url: string;
  s3Bucket: string;
  s3Key: string;
  /** Bytes, when the manifest says. */
  size?: number;
  checksum?: Checksum;
  /** Request headers of the caller; dropped when a redirect changes the origin. */
  headers?: Record<string, string>;
  expectContentType?: string;
  /** Hosts to which no redirect is followed, and for how long from now. */
  pausedHosts?: PausedHost[];
  /** 1 for the first try. */
  attempt: number;
}

/**
 * With a host: it asks everybody for patience, for so long if it gave a time. A time without a host: this one file is not ready before.
 * Neither: nobody asks for anything.
 */
export interface PatienceWish {
  /** At most 300,000. */
  retryAfterMs?: number;
  /** As of `hostOf`; behind a redirect another than that of the task's URL. */
  retryAfterHost?: string;
}

/** Whether an answer, or the failure it led to, asks to be asked later. */
export function asksForPatience(wish: { [Part in keyof PatienceWish]: PatienceWish[Part] | undefined }): boolean {
  return wish.retryAfterMs !== undefined || wish.retryAfterHost !== undefined;
}

/** Why a task failed, as data: errors do not survive postMessage. */
export interface TaskFailure extends PatienceWish {
  /** Stable: `HTTP_404`, `SOURCE_PAUSED` (a redirect led to one of the paused hosts, which was not asked), `SIZE_MISMATCH`, `CHECKSUM_MISMATCH`, `LENGTH_UNKNOWN`, `SOURCE_NOT_ALLOWED`, `TASK_TIMEOUT`, `ABORTED`, `THREAD_LOST` … */
  code: string;
  message: string;
  httpStatus?: number;
  retryable: boolean;
  /** Whom a redirect led to, when that host gave no answer; the host of the task's URL did. As of `hostOf`. */
  failedHost?: string;
}

export type TaskOutcome =
  /** The sha256 of what was copied within S3 is known only where S3, or the source's metadata, tells it. */
  | { success: true; skipped?: false; bytesProcessed: number; etag: string; sha256?: string }
  /** The identical object was already there and was left alone; its sha256 is known only if it was stored with it. */
  | { success: true; skipped: true; bytesProcessed: number; etag: string; sha256?: string }
  | { success: false; bytesProcessed: number; error: TaskFailure };
