/*
 * How many batches a coordinator takes in. A few of each job keep its places busy; the rest of what it may hold is room for other jobs,
 * so that one with a long way to go holds up none. Batches of a job that only waits, for a host or for the end of a backoff, do not count:
 * they need no place, and others could use the room.
 */

export interface TakeInLimits {
  /** Of one job, and as long as there are fewer in all, the next message is waited for without a pause. */
  maxInHand: number;
  maxInHandTotal: number;
}

export interface InHand {
  /** From their receive on. */
  batches: number;
  /** Of jobs that only wait. */
  waiting: number;
}

/** Batches that only wait cost memory and a lease each: there are never more than so many totals in hand. */
const MAX_TOTALS = 4;
/** Nobody can choose what he receives: a coordinator takes in some more of a job than its share before it passes messages on. */
const SLACK = 1.5;

/** Whether the coordinator has enough to do: it looks for jobs that it has nothing of, and leaves other messages to those who have less. */
export function hasEnough({ maxInHand }: TakeInLimits, { batches, waiting }: InHand): boolean {
  return batches - waiting >= maxInHand;
}

/** How many batches may be in hand now. */
export function capacityOf(limits: TakeInLimits, inHand: InHand): number {
  const { maxInHand, maxInHandTotal } = limits;
  // The first receive of an idle coordinator must not take what others are as idle for.
  const counted = hasEnough(limits, inHand) ? maxInHandTotal : maxInHand;
  return Math.min(counted + inHand.waiting, maxInHandTotal * MAX_TOTALS);
}

/** Whether one more batch of a job is for others. */
export function isForOthers({ maxInHand }: TakeInLimits, ofJob: InHand): boolean {
  return ofJob.batches - ofJob.waiting >= Math.ceil(maxInHand * SLACK);
}
