import { z } from 'zod';
import { CHECKSUM_ALGORITHMS } from '../../shared/index.js';
import type { BucketAccess } from '../domain/bucket-access.js';
import type { TransferTask } from '../domain/transfer-task.js';

/*
 * What a worker and the pool say to each other: small plain `{ type, payload }` objects. Errors travel as data. The pool checks both what it
 * sends (tasks come from users) and what it hears; a thread loads no zod for what the pool has checked: 9 MiB each.
 *
 *   main → worker   PROCESS_TASK, ABORT_TASK, BUCKET_ACCESS, PING, SHUTDOWN
 *   worker → main   READY, TASK_PROGRESS (at most one a second and task), TASK_READ (its source needs its place no more),
 *                   TASK_SILENT (its source has sent nothing for 2 s, although it was asked or is read), TASK_HEARD (it has, after a
 *                   TASK_SILENT); neither after TASK_READ, and neither while nobody reads because memory or S3 is waited for
 *                   MEMORY_AWAITED (how many tasks wait for memory for a part, whenever that changes)
 *                   TASK_COMPLETED (exactly one per PROCESS_TASK), BUCKET_WANTED (answered with one BUCKET_ACCESS; it names the access key that S3 has
 *                   refused, if that is why), PONG
 *                   UPLOAD_OPENED (a multipart upload is there, before its first part), UPLOAD_CLOSED (it is completed or aborted)
 *
 * An ABORT_TASK for a task that is not in hand is ignored: its TASK_COMPLETED is on the way. SHUTDOWN ends every task, then the thread.
 * An upload that is open when its task ends, or its thread, is the pool's to abort: a thread can die at any moment.
 */

const bytes = z.number().int().min(0);

/** A TransferTask; fields that no thread needs are dropped. */
export const transferTaskSchema = z.object({
  taskId: z.string().min(1),
  jobId: z.string().min(1),
  url: z.string(),
  s3Bucket: z.string(),
  s3Key: z.string(),
  size: bytes.exactOptional(),
  checksum: z.object({ algorithm: z.enum(CHECKSUM_ALGORITHMS), value: z.string().regex(/^[0-9a-f]+$/) }).exactOptional(),
  headers: z.record(z.string(), z.string()).exactOptional(),
  expectContentType: z.string().exactOptional(),
  pausedHosts: z.array(z.object({ host: z.string(), forMs: z.number().min(0) })).exactOptional(),
  attempt: z.number().int().min(1),
});

const failure = z.object({
  code: z.string(),
  message: z.string(),
  httpStatus: z.number().int().exactOptional(),
  retryable: z.boolean(),
  retryAfterMs: z.number().min(0).exactOptional(),
  retryAfterHost: z.string().exactOptional(),
  failedHost: z.string().exactOptional(),
});

const completed = { taskId: z.string(), jobId: z.string(), bytesProcessed: bytes };
const taskCompleted = z.union([
  z.object({
    ...completed,
    success: z.literal(true),
    skipped: z.literal(false).exactOptional(),
    etag: z.string(),
    sha256: z.string().exactOptional(),
  }),
  z.object({
    ...completed,
    success: z.literal(true),
    skipped: z.literal(true),
    etag: z.string(),
    sha256: z.string().exactOptional(),
  }),
  z.object({ ...completed, success: z.literal(false), error: failure }),
]);

const upload = { taskId: z.string(), uploadId: z.string() };

/** How the pool reaches a bucket, or why nobody knows. */
export type BucketAnswer = { bucket: string; access: BucketAccess } | { bucket: string; code: string };

export type ToThreadMessage =
  | { type: 'PROCESS_TASK'; payload: TransferTask }
  | { type: 'ABORT_TASK'; payload: { taskId: string; reason: string } }
  | { type: 'BUCKET_ACCESS'; payload: BucketAnswer }
  | { type: 'PING' | 'SHUTDOWN'; payload: Record<string, never> };

export const fromThreadMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('READY'), payload: z.object({}) }),
  z.object({ type: z.literal('TASK_PROGRESS'), payload: z.object({ taskId: z.string(), bytes }) }),
  z.object({ type: z.literal('TASK_READ'), payload: z.object({ taskId: z.string() }) }),
  z.object({ type: z.enum(['TASK_SILENT', 'TASK_HEARD']), payload: z.object({ taskId: z.string() }) }),
  z.object({ type: z.literal('MEMORY_AWAITED'), payload: z.object({ tasks: z.number().int().min(0) }) }),
  z.object({ type: z.literal('TASK_COMPLETED'), payload: taskCompleted }),
  z.object({ type: z.literal('BUCKET_WANTED'), payload: z.object({ bucket: z.string(), refusedKeyId: z.string().exactOptional() }) }),
  z.object({ type: z.literal('UPLOAD_OPENED'), payload: z.object({ ...upload, bucket: z.string(), key: z.string() }) }),
  z.object({ type: z.literal('UPLOAD_CLOSED'), payload: z.object(upload) }),
  z.object({ type: z.literal('PONG'), payload: z.object({}) }),
]);
export type FromThreadMessage = z.infer<typeof fromThreadMessageSchema>;

/** What a thread is started with (`workerData`). */
export interface ThreadSettings {
  s3Checksums: 'full-object' | 'none';
  destinationBuckets: readonly string[];
  sourceBuckets: readonly string[];
  sourceHosts: readonly string[];
  sourceCidrs: readonly string[];
  sourcePorts: readonly number[];
  /** Of requests whose task gives none. */
  userAgent: string;
  tasksPerWorker: number;
  memoryBytes: number;
  uploadConcurrency: number;
  connectionsPerHost: number;
  taskTimeoutMs: number;
  stallTimeoutMs: number;
  minBytesPerSecond: number;
}
