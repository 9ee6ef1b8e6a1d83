import { AppError, type StoreError } from '../../shared/index.js';
import type { JobError } from './export-job.entity.js';

/** Code of the error that says that the bucket of the job, where its files and lists lie, refuses them for good. */
export const DESTINATION_REFUSED = 'DESTINATION_REFUSED';

/** S3 needs some seconds until it knows a changed policy or bucket everywhere: so often a refusal is asked for before it is believed. */
export const MAX_REFUSALS = 5;

/** A refusal that did not pass. */
export function destinationRefused(cause: StoreError): AppError {
  return new AppError(DESTINATION_REFUSED, cause.message, { disposition: 'reject', cause });
}

/** How a job ends whose destination refuses it; `reason` names the permission and the object. */
export function destinationRefusedEnd(reason: string): JobError {
  const mend = 'Create the bucket or grant the permission, then start the execution again: only what is not done is fetched.';
  return { code: 'DestinationRefused', message: `${reason}. ${mend}` };
}
