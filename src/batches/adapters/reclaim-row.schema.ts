import { z } from 'zod';
import { withoutUndefined } from '../../shared/index.js';
import type { ReclaimRecord } from '../domain/reclaim-record.js';

export const RECLAIM_ROW_VERSION = 1;

const count = z.number().int().min(0);

/** A row as DynamoDB gives it back; unknown attributes are a later version's business. */
const reclaimRowSchema = z.object({
  v: z.literal(RECLAIM_ROW_VERSION),
  jobId: z.string(),
  batchNo: count,
  run: count,
  attempt: count,
  lockToken: count,
  outcome: z.enum(['requeued', 'given-up']),
  reclaimedAt: z.string(),
  reclaimedBy: z.string(),
  heldBy: z.string().optional(),
  lockAgeS: count.optional(),
  heartbeatAgeS: count.optional(),
  progressAgeS: count.optional(),
  lastError: z.string().optional(),
  reclaimId: z.string(),
  completed: count,
  failed: count,
});

/** `undefined`: of a version that this process does not know. */
export function toReclaimRecord(item: unknown): ReclaimRecord | undefined {
  const { data } = reclaimRowSchema.safeParse(item);
  if (data === undefined) return undefined;
  const { v: _version, ...record } = data;
  return withoutUndefined<ReclaimRecord>(record);
}
