import type { MonotonicMs } from '../../shared/index.js';
import type { CoordinatorEntity } from './coordinator.entity.js';

/** Heartbeat intervals after its last heartbeat during which a coordinator counts as live. */
const LIVE_INTERVALS = 3;
/** What moved between two readings that lie further apart is taken to have moved so lately: else a pause of ours would make all others dead. */
const MOVED_WITHIN_INTERVALS = 1.5;
/** Heartbeat intervals after its last heartbeat during which nobody else takes its id: to take it early costs work, to take it late nothing. */
const IN_USE_INTERVALS = 12;
/** Heartbeat intervals after its last sign of work during which a coordinator counts as working. */
const WORK_INTERVALS = 12;
/** Never less than twenty long polls of the batches queue (3 s): an idle loop turns once in each, and a few of them may fail. */
const MIN_WORK_MS = 60_000;

/** One reading of the registry. */
export interface Look {
  /** Its start, on this process's monotonic clock. */
  at: MonotonicMs;
  /** The start of the reading before it; none in the first one. */
  formerAt: MonotonicMs | undefined;
  /** This host's wall clock, epoch milliseconds. */
  nowMs: number;
}

/** What this process remembers of another one. Instants are on its own monotonic clock. */
export interface Sighting {
  epoch: number;
  sequence: number;
  leaving: boolean;
  /** Its loops do not turn yet: until they do it looks after nothing, however long it takes. */
  starting: boolean;
  workLoopAt: string | undefined;
  /** Its last heartbeat is no older than this; `undefined`: nothing says yet that it lives. */
  aliveAt: MonotonicMs | undefined;
  /** When its loops that run batches were last known to turn. */
  workedAt: MonotonicMs | undefined;
}

/**
 * What a reading adds to what is remembered of a coordinator. A heartbeat that is new at this look was written after the former
 * look began, so it counts from there: a death shows at most three intervals after the last heartbeat. Only the first sight of a row goes by
 * stored time; from then on only what moves counts, so that no skew between hosts keeps a coordinator dead, or alive.
 */
export function seeCoordinator(before: Sighting | undefined, row: CoordinatorEntity, look: Look, intervalMs: number): Sighting {
  const { epoch, sequence, workLoopAt } = row;
  const seen = { epoch, sequence, workLoopAt, leaving: row.status === 'LEAVING', starting: row.phase === 'starting' };
  if (before === undefined) return { ...seen, ...firstSight(row, look, intervalMs) };
  const hasMoved = epoch !== before.epoch || sequence !== before.sequence;
  const hasWorked = workLoopAt !== undefined && workLoopAt !== before.workLoopAt;
  return {
    ...seen,
    aliveAt: hasMoved ? movedSince(look, intervalMs) : before.aliveAt,
    workedAt: hasWorked ? look.at : before.workedAt,
  };
}

/** Whether it shares the work. */
export function isLive({ aliveAt, leaving, starting }: Sighting, now: MonotonicMs, intervalMs: number): boolean {
  return !leaving && !starting && aliveAt !== undefined && now - aliveAt <= LIVE_INTERVALS * intervalMs;
}

/** Whether it should share the work, and gives no sign of life. */
export function isSilent(sighting: Sighting, now: MonotonicMs, intervalMs: number): boolean {
  return !sighting.leaving && !sighting.starting && !isLive(sighting, now, intervalMs);
}

/** Whether its id is still in use, be it by a process that drains, or is so busy that it missed some heartbeats. */
export function isInUse({ aliveAt }: Sighting, now: MonotonicMs, intervalMs: number): boolean {
  return aliveAt !== undefined && now - aliveAt <= IN_USE_INTERVALS * intervalMs;
}

/** How long loops count as turning after their last sign. */
export function workLimitMs(intervalMs: number): number {
  return Math.max(WORK_INTERVALS * intervalMs, MIN_WORK_MS);
}

/** Whether loops that were last known to turn then still count as turning. */
export function isWorking(workedAt: MonotonicMs | undefined, now: MonotonicMs, intervalMs: number): boolean {
  return workedAt !== undefined && now - workedAt <= workLimitMs(intervalMs);
}

function movedSince({ at, formerAt = at }: Look, intervalMs: number): MonotonicMs {
  return Math.max(formerAt, at - MOVED_WITHIN_INTERVALS * intervalMs);
}

function firstSight(row: CoordinatorEntity, { at, nowMs }: Look, intervalMs: number): Pick<Sighting, 'aliveAt' | 'workedAt'> {
  const heartbeatMs = Date.parse(row.heartbeatAt);
  const ageMs = nowMs - heartbeatMs;
  // Both stamps are of one clock, so their distance is true whatever that clock shows.
  const sinceWorkMs = row.workLoopAt === undefined ? Infinity : Math.abs(heartbeatMs - Date.parse(row.workLoopAt));
  return {
    aliveAt: Math.abs(ageMs) <= LIVE_INTERVALS * intervalMs ? at - Math.max(0, ageMs) : undefined,
    workedAt: sinceWorkMs <= workLimitMs(intervalMs) ? at - sinceWorkMs : undefined,
  };
}
