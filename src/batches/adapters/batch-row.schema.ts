import { z } from 'zod';
import { withoutUndefined } from '../../shared/index.js';
import type { BatchEntity, BatchSummary } from '../domain/batch.entity.js';

export const ROW_VERSION = 1;

const count = z.number().int().min(0);
const resultFile = z.object({ key: z.string(), size: count });

/** A row as DynamoDB gives it back; unknown attributes are a later version's business. */
const batchRowSchema = z.object({
  v: z.literal(ROW_VERSION),
  jobId: z.string(),
  batchNo: count,
  type: z.literal('download'),
  run: count,
  status: z.enum(['queued', 'running', 'succeeded', 'dead', 'cancelled']),
  totalTasks: count,
  done: z.instanceof(Uint8Array),
  failures: z.record(z.string(), z.string()),
  completed: count,
  failed: count,
  bytes: count,
  bytesInHand: count.optional(),
  seq: count,
  lockToken: count,
  claimId: z.string().optional(),
  lockedBy: z.string().optional(),
  lockedAt: z.string().optional(),
  heartbeatAt: z.string().optional(),
  progressedAt: z.string().optional(),
  pausedMs: count.optional(),
  pausedHost: z.string().optional(),
  attempts: count,
  reclaimId: z.string().optional(),
  reclaimMark: count.optional(),
  trialSize: count.min(1).optional(),
  lastError: z.string().optional(),
  enqueuedAt: z.string(),
  segmentKey: z.string(),
  resultKeys: z.object({ succeeded: resultFile, failed: resultFile }).optional(),
});

const summarySchema = batchRowSchema.pick({
  v: true,
  batchNo: true,
  bytes: true,
  bytesInHand: true,
  completed: true,
  enqueuedAt: true,
  failed: true,
  heartbeatAt: true,
  lockToken: true,
  lockedAt: true,
  lockedBy: true,
  pausedHost: true,
  pausedMs: true,
  progressedAt: true,
  resultKeys: true,
  run: true,
  segmentKey: true,
  seq: true,
  status: true,
  totalTasks: true,
});

/** @throws ZodError when the row is of another version or was written by something else. */
export function toBatchEntity(item: unknown): BatchEntity {
  return entityOf(batchRowSchema.parse(item));
}

/** `undefined`: of a version that this process does not know. */
export function toBatchEntityIfKnown(item: unknown): BatchEntity | undefined {
  const { data } = batchRowSchema.safeParse(item);
  return data === undefined ? undefined : entityOf(data);
}

/** `undefined`: of a version that this process does not know. */
export function toBatchSummary(item: unknown): BatchSummary | undefined {
  const { data } = summarySchema.safeParse(item);
  if (data === undefined) return undefined;
  const { v: _version, ...summary } = data;
  return withoutUndefined<BatchSummary>(summary);
}

function entityOf({ v: _version, failures, ...row }: z.infer<typeof batchRowSchema>): BatchEntity {
  return withoutUndefined<BatchEntity>({
    ...row,
    failures: new Map(Object.entries(failures).map(([position, code]) => [Number(position), code])),
  });
}
