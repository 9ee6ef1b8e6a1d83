import { z } from 'zod';
import { withoutUndefined } from '../../shared/index.js';
import type { RegisteredRow } from '../application/coordinator-registry.port.js';
import type { CoordinatorEntity } from '../domain/coordinator.entity.js';

export const ROW_VERSION = 1;

const count = z.number().int().min(0);

/** A row as DynamoDB gives it back; unknown attributes are others' business: a later version's, and the monitors'. */
const coordinatorRowSchema = z.object({
  v: z.literal(ROW_VERSION),
  coordinatorId: z.string(),
  epoch: count,
  sequence: count,
  heartbeatAt: z.string(),
  phase: z.enum(['starting', 'ready', 'draining']),
  activeTasks: count,
  activeBatches: count,
  status: z.enum(['ACTIVE', 'LEAVING']),
  startedAt: z.string(),
  version: z.string(),
  host: z.string(),
  loopLagMs: z.number().min(0),
  workLoopAt: z.string().optional(),
});

/** What the next owner of an id must know of its row, of whichever version that is. */
const registeredRowSchema = z.object({ epoch: count, sequence: count, registrationId: z.string().optional() });

/** `undefined`: of a version that this process does not know, or not a coordinator's. */
export function toCoordinatorIfKnown(item: unknown): CoordinatorEntity | undefined {
  const { data } = coordinatorRowSchema.safeParse(item);
  if (data === undefined) return undefined;
  const { v: _version, ...row } = data;
  return withoutUndefined<CoordinatorEntity>(row);
}

/** `undefined`: not a coordinator's. */
export function toRegisteredRow(item: unknown): RegisteredRow | undefined {
  const { data } = registeredRowSchema.safeParse(item);
  return data === undefined ? undefined : { ...data, registrationId: data.registrationId };
}
