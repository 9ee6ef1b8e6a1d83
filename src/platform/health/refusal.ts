import { statusOf } from '../aws/index.js';
import { toLoggable } from '../../shared/index.js';

/**
 * - `missing`: there is no such table, queue or bucket, or it is another one
 * - `denied`: it may be there; we may not ask
 * - `unsigned`: the credentials are wrong
 * - `away`: no answer, or one that may be another the next time
 */
export type RefusalKind = 'missing' | 'denied' | 'unsigned' | 'away';

export interface Refusal {
  kind: RefusalKind;
  /** As AWS calls it, with its status, such as `AccessDenied (403)`; of a connection its code, such as `ECONNREFUSED`. */
  reason: string;
}

const MISSING = /^(ResourceNotFound|QueueDoesNotExist|NoSuchBucket|NotFound|InvalidAddress)|NonExistentQueue$/;
const DENIED = /^(AccessDenied|AllAccessDisabled|Forbidden|KmsAccessDenied|KMS\.AccessDenied|OptInRequired)/;
const UNSIGNED =
  /^(InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|InvalidAccessKeyId|InvalidClientTokenId|UnrecognizedClient|ExpiredToken|RequestExpired|TokenRefreshRequired|BadRequest)/;
/** The keys or the index that we asked by are not those of the table. */
const OTHER_TABLE = 'ValidationException';
const BEING_MADE = /backfilling/i;
/** Another region than ours, or a name that no bucket may have. */
const OTHER_BUCKET = /^(PermanentRedirect|InvalidBucketName|InvalidRequest|AuthorizationHeaderMalformed)/;

export function refusalOf(error: unknown): Refusal {
  const { name, message, code = name } = toLoggable(error);
  const status = statusOf(error);
  const reason = status === undefined ? code : `${name} (${status})`;
  if (name === OTHER_TABLE)
    return BEING_MADE.test(message) ? { kind: 'away', reason } : { kind: 'missing', reason: `${reason}: ${message}` };
  if (MISSING.test(name) || OTHER_BUCKET.test(name)) return { kind: 'missing', reason };
  if (DENIED.test(name)) return { kind: 'denied', reason };
  return { kind: UNSIGNED.test(name) ? 'unsigned' : 'away', reason };
}
