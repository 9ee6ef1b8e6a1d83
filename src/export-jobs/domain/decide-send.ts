import type { ExportJobEntity } from './export-job.entity.js';

/*
 * The window of a job: how many of its batches may be out at the same time.
 *
 * A batch is due once its message was sent in this run: batches are sent in the order of their numbers, so all below `sentBatches` are.
 * One that is due and has not ended is out. Each end makes room for the next message. So the queue never holds a huge job in front of
 * everybody, and every coordinator still has as much to do as it takes in.
 *
 * Messages are sent first, then `sentBatches` is written IF it is as observed. A crash in between sends the same messages again, which
 * find their batches claimed and are dropped; a number that was written is never without its message, unless the queue loses it, and
 * then the job's repair sends it again.
 */

export interface WindowLimits {
  /** Batches of one job that a coordinator takes in. */
  maxInHand: number;
  /** Batches of all jobs that a coordinator takes in. */
  maxInHandTotal: number;
}

/** What the fleet takes in of one job, or the job's share of all that it takes in, where many jobs download. At least one. */
export function windowSize({ maxInHand, maxInHandTotal }: WindowLimits, coordinators: number, downloadingJobs: number): number {
  const fleet = Math.max(1, coordinators);
  const share = Math.floor((maxInHandTotal * fleet) / Math.max(1, downloadingJobs));
  return Math.min(maxInHand * fleet, Math.max(1, share));
}

export interface SendDecision {
  /** Their messages are to be sent. */
  batchNos: number[];
  /** As it stands in the row once they are sent. */
  sentBatches: number;
}

type JobToSend = Pick<ExportJobEntity, 'status' | 'plan' | 'sentBatches' | 'endedBatches'>;

/** The messages that fill a job's window. While a job is PROCESSING only its expander sends: a batch may lack its row, and a message without one is dropped. */
export function decideSend(job: JobToSend, window: number): SendDecision {
  return hasWaitingBatches(job) ? fill(job, job.sentBatches, window) : { batchNos: [], sentBatches: job.sentBatches };
}

/** The messages that an expander sends: each expansion begins anew, because one that broke off has left no word of what it sent. */
export function decideFirstSend(job: JobToSend, window: number): SendDecision {
  return fill(job, 0, window);
}

/** Whether the batch's message was sent. Nothing is due while rows are still written, whatever a process of the former version left in the row. */
export function isDue({ status, sentBatches }: Pick<ExportJobEntity, 'status' | 'sentBatches'>, batchNo: number): boolean {
  return status === 'DOWNLOADING' && batchNo < sentBatches;
}

/** Whether some batch of it waits for an end of another to get its message. */
export function hasWaitingBatches({ status, plan, sentBatches }: JobToSend): boolean {
  return status === 'DOWNLOADING' && sentBatches < (plan?.batchCount ?? 0);
}

/** What two readings of a job's row show together: within a run both numbers only grow, so it is true of the row, whichever is the later. */
export function together(job: ExportJobEntity, other: ExportJobEntity | undefined): ExportJobEntity {
  if (other === undefined || other.run < job.run) return job;
  if (other.run > job.run) return other;
  const endedBatches = other.endedBatches.size > job.endedBatches.size ? other.endedBatches : job.endedBatches;
  return { ...job, endedBatches, sentBatches: Math.max(job.sentBatches, other.sentBatches) };
}

function fill({ plan, endedBatches }: JobToSend, from: number, window: number): SendDecision {
  const batchCount = plan?.batchCount ?? 0;
  const batchNos: number[] = [];
  let sentBatches = from;
  let out = from;
  for (const batchNo of endedBatches) if (batchNo < from) out--;
  for (; sentBatches < batchCount && out + batchNos.length < window; sentBatches++)
    if (!endedBatches.has(sentBatches)) batchNos.push(sentBatches);
  return { batchNos, sentBatches: batchNos.length === 0 ? from : sentBatches };
}
