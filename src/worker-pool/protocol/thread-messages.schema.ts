import { z } from 'zod';
import { CHECKSUM_ALGORITHMS } from '../../shared/index.js';

/*
 * What a worker and the pool say to each other: small plain `{ type, payload }` objects, checked at both ends. Errors travel as data.
 *
 *   main → worker   PROCESS_TASK, ABORT_TASK, PING, SHUTDOWN
 *   worker → main   READY, TASK_PROGRESS (at most one a second and task), TASK_COMPLETED (exactly one per PROCESS_TASK), PONG
 *
 * An ABORT_TASK for a task that is not in hand is ignored: its TASK_COMPLETED is on the way. SHUTDOWN ends every task, then the thread.
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
  attempt: z.number().int().min(1),
});

const failure = z.object({
  code: z.string(),
  message: z.string(),
  httpStatus: z.number().int().exactOptional(),
  retryable: z.boolean(),
  retryAfterMs: z.number().min(0).exactOptional(),
});

const completed = { taskId: z.string(), jobId: z.string(), bytesProcessed: bytes };
const taskCompleted = z.union([
  z.object({
    ...completed,
    success: z.literal(true),
    skipped: z.literal(false).exactOptional(),
    etag: z.string(),
    sha256: z.string(),
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

export const toThreadMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('PROCESS_TASK'), payload: transferTaskSchema }),
  z.object({ type: z.literal('ABORT_TASK'), payload: z.object({ taskId: z.string(), reason: z.string() }) }),
  z.object({ type: z.literal('PING'), payload: z.object({}) }),
  z.object({ type: z.literal('SHUTDOWN'), payload: z.object({}) }),
]);
export type ToThreadMessage = z.infer<typeof toThreadMessageSchema>;

export const fromThreadMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('READY'), payload: z.object({}) }),
  z.object({ type: z.literal('TASK_PROGRESS'), payload: z.object({ taskId: z.string(), bytes }) }),
  z.object({ type: z.literal('TASK_COMPLETED'), payload: taskCompleted }),
  z.object({ type: z.literal('PONG'), payload: z.object({}) }),
]);
export type FromThreadMessage = z.infer<typeof fromThreadMessageSchema>;

/** What a thread is started with (`workerData`). */
export const threadSettingsSchema = z.object({
  region: z.string(),
  s3CustomEndpoint: z.boolean(),
  s3Checksums: z.enum(['full-object', 'none']),
  destinationBuckets: z.array(z.string()),
  sourceBuckets: z.array(z.string()),
  sourceHosts: z.array(z.string()),
  sourceCidrs: z.array(z.string()),
  sourcePorts: z.array(z.number()),
  tasksPerWorker: z.number().int().min(1),
  memoryBytes: z.number().int().min(1),
  uploadConcurrency: z.number().int().min(1),
  connectionsPerHost: z.number().int().min(1),
  taskTimeoutMs: z.number().min(1),
  stallTimeoutMs: z.number().min(1),
});
export type ThreadSettings = z.infer<typeof threadSettingsSchema>;
