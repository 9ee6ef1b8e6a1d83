import { z } from 'zod';
import { withoutUndefined } from '../../../shared/index.js';
import { decodeBatchCount } from '../../domain/counting.js';
import type { ExportJobEntity } from '../../domain/export-job.entity.js';
import { ACTIVE_STATUSES, JOB_ERROR_CODES, TERMINAL_STATUSES } from '../../domain/export-job.entity.js';

/** Rows, messages and segments carry it; readers leave what is newer alone. */
export const ROW_VERSION = 1;

const errorSchema = z.object({
  code: z.enum(JOB_ERROR_CODES),
  message: z.string(),
});

const count = z.number().int().min(0);

/** A row as DynamoDB gives it back; unknown attributes are a later version's business. */
export const jobRowSchema = z.object({
  v: z.literal(ROW_VERSION),
  jobId: z.string(),
  exportId: z.string(),
  userId: z.string(),
  status: z.enum([...ACTIVE_STATUSES, ...TERMINAL_STATUSES]),
  run: count,
  attempt: count,
  taskToken: z.string().optional(),
  destination: z.object({ bucket: z.string(), prefix: z.string() }),
  tolerance: z.object({ count: count.optional(), percentage: z.number().optional() }),
  failFast: z.boolean().optional(),
  requestKey: z.string(),
  requestHash: z.string(),
  totalTasks: count.optional(),
  batchCount: count.optional(),
  batchSize: count.optional(),
  segmentPrefix: z.string().optional(),
  repeatedTasks: z.number().optional(),
  /** Absent in a row of the former version, whose expander sends all messages at once. */
  sentBatches: count.optional(),
  completedTasks: count,
  failedTasks: count,
  bytesProcessed: count,
  batchProgress: z.record(z.string(), z.string()),
  endedBatches: z.set(z.number()).optional(),
  createdAt: z.string(),
  updatedAt: z.string(),
  reopened: z.object({ at: z.string(), completed: count, bytes: count }).optional(),
  completedAt: z.string().optional(),
  lastProgressAt: z.string(),
  lastHeartbeatAt: z.string().optional(),
  outcome: z
    .object({
      status: z.enum(TERMINAL_STATUSES),
      error: errorSchema.optional(),
      decidedAt: z.string(),
      decidedBy: z.string(),
      partial: z.literal(true).optional(),
    })
    .optional(),
  finisher: z.object({ id: z.string(), seq: count }).optional(),
  resultKey: z.string().optional(),
  resultsNotWritten: z.object({ bucket: z.string(), key: z.string(), code: z.string() }).optional(),
  callback: z.enum(['success', 'failure', 'gone', 'unknown', 'none']).optional(),
  error: errorSchema.optional(),
  uncounted: z.literal(true).optional(),
  /** JSON text: DynamoDB would refuse large numbers and deep nesting, which are the sender's right. */
  metadata: z
    .string()
    .transform((text) => JSON.parse(text) as Record<string, unknown>)
    .optional(),
});

/** @throws ZodError when the row is of another version or was written by something else. */
export function toJobEntity(item: unknown): ExportJobEntity {
  const {
    v: _version,
    totalTasks,
    batchCount,
    batchSize,
    segmentPrefix,
    repeatedTasks,
    sentBatches,
    batchProgress,
    endedBatches,
    ...row
  } = jobRowSchema.parse(item);
  const planned = totalTasks !== undefined && batchCount !== undefined && batchSize !== undefined && segmentPrefix !== undefined;
  return withoutUndefined<ExportJobEntity>({
    ...row,
    plan: planned ? withoutUndefined({ totalTasks, batchCount, batchSize, segmentPrefix, repeatedTasks }) : undefined,
    sentBatches: sentBatches ?? batchCount ?? 0,
    batchProgress: new Map(Object.entries(batchProgress).map(([batchNo, text]) => [Number(batchNo), decodeBatchCount(text)])),
    endedBatches: endedBatches ?? new Set<number>(),
  });
}
