import type { ExportRequest } from './export-request.js';

/** What an arriving message finds in the table. */
export interface ExistingJob {
  status: 'PROCESSING' | 'DOWNLOADING' | 'FINALIZING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
  taskToken?: string;
  requestHash: string;
}

export type AcceptDecision =
  /** The first acceptor may be dead: expansion goes on where the row says. */
  | { kind: 'expand' }
  /** A redelivery of something that is well in hand. */
  | { kind: 'acknowledge' }
  /** Another request under the same jobId. */
  | { kind: 'conflict' }
  /** Another attempt of the execution, or a late duplicate of an old one: only a beat that is accepted tells. */
  | { kind: 'prove-token' };

export function decideAccept(job: ExistingJob, request: Pick<ExportRequest, 'taskToken' | 'requestHash'>): AcceptDecision {
  if (job.requestHash !== request.requestHash) return { kind: 'conflict' };
  const ended = job.status === 'COMPLETED' || job.status === 'FAILED' || job.status === 'CANCELLED';
  // An ended row has lost its token, so a redelivered token is proved too: it is dead, and the message acknowledged.
  if (request.taskToken !== undefined && (ended || job.taskToken !== request.taskToken)) return { kind: 'prove-token' };
  return job.status === 'PROCESSING' ? { kind: 'expand' } : { kind: 'acknowledge' };
}
