import { S3ServiceException } from '@aws-sdk/client-s3';
import { StoreError, toLoggable, type StoreCall } from '../../shared/index.js';

/** Said with a 4xx, and yet another try may succeed: throttling, credentials that the next call has renewed, a race of two writers. */
const PASSING =
  /Throttl|SlowDown|TooManyRequests|RequestLimitExceeded|RequestTim|ExpiredToken|TokenRefresh|OperationAborted|Conflict|NoSuchUpload/;
const PASSING_STATUS = new Set([408, 409, 429]);

/** An error of the SDK in our words; one that is in our words already stays as it is. */
export function toStoreError(call: StoreCall, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  const { name, code = name } = toLoggable(cause);
  return new StoreError(call, code, { mayPass: mayPass(cause, name), cause });
}

function mayPass(cause: unknown, name: string): boolean {
  const status = cause instanceof S3ServiceException ? (cause.$metadata.httpStatusCode ?? 0) : 0;
  // Without an answer it was the network, the time limit, or credentials that could not be had just now.
  return status < 300 || status >= 500 || PASSING_STATUS.has(status) || PASSING.test(name);
}
