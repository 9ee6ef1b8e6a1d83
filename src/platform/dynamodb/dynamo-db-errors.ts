import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { AppError, toLoggable } from '../../shared/index.js';

/** Said with a 400, and yet another try may succeed: throttling, and credentials that the next call has renewed. */
const PASSING = /Throttl|ThroughputExceeded|RequestLimitExceeded|TooManyRequests|ExpiredToken/;
/** The table is not there, or this process may not use it so. */
const UNUSABLE = /^(ResourceNotFound|AccessDenied)/;

/**
 * An error of the SDK in our words:
 * - `TABLE_UNAVAILABLE` (retry): throttling, 5xx, network, timeout; whether a write was applied is unknown
 * - `TABLE_UNUSABLE` (fatal): there is no such table, or no permission
 * - `TABLE_REFUSED` (fatal): everything else, such as a call that is wrong or credentials that are
 */
export function toDynamoDbError(operation: string, cause: unknown): AppError {
  const { name, message, code = name } = toLoggable(cause);
  const text = `DynamoDB ${operation} failed: ${code}${message === '' ? '' : ` (${message})`}`;
  if (mayPass(cause, name)) return new AppError('TABLE_UNAVAILABLE', text, { disposition: 'retry', cause });
  return new AppError(UNUSABLE.test(name) ? 'TABLE_UNUSABLE' : 'TABLE_REFUSED', text, { disposition: 'fatal', cause });
}

function mayPass(cause: unknown, name: string): boolean {
  if (cause instanceof DynamoDBServiceException) return (cause.$metadata.httpStatusCode ?? 0) >= 500 || PASSING.test(name);
  // Without an answer it was the network, unless the call was not even signed.
  return name !== 'CredentialsProviderError';
}
