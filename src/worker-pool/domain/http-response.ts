import { TransferError } from './transfer-error.js';
import { asksForPatience, type PatienceWish } from './transfer-task.js';

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
const RETRYABLE_CLIENT_STATUSES = new Set([408, 425, 429]);
/** Refusals, unless they come with a wish for patience: a file that is not ready yet, and a limit that is used up. */
const WAITS_WITH_A_WISH = new Set([202, 403]);
/** As the parser below reads it: what it takes for another coding, as with a tab behind it, reaches us with its chunks not undone. */
const PARSED_AS_CHUNKED = /^chunked *$/i;
/** What a host may ask for at most: longer is no wait, but a source that is gone. */
export const MAX_RETRY_AFTER_MS = 300_000;

export function isRedirect(status: number): boolean {
  return REDIRECT_STATUSES.has(status);
}

export function isRetryableStatus(status: number): boolean {
  return status >= 500 || RETRYABLE_CLIENT_STATUSES.has(status);
}

/** The error for any status but 200: a 204 or an unasked 206 is not the file. */
export function statusError(status: number, wish: PatienceWish = {}): TransferError {
  const isWait = WAITS_WITH_A_WISH.has(status) && asksForPatience(wish);
  return new TransferError(`HTTP_${status}`, `the source answered ${status}`, {
    retryable: isWait || isRetryableStatus(status),
    httpStatus: status,
    ...wish,
  });
}

/**
 * Whether the framing of an answer shows a cut. Only a length or `chunked` alone does: what any other coding would mean is not undone here,
 * and under it a body that ends with its connection looks whole.
 * @throws TransferError `TRANSFER_CODING` for any other coding
 */
export function isFramed(length: number | undefined, transferEncoding: string | undefined): boolean {
  if (transferEncoding === undefined) return length !== undefined;
  if (PARSED_AS_CHUNKED.test(transferEncoding)) return true;
  throw new TransferError('TRANSFER_CODING', 'the source sends its answer in a transfer coding other than chunked', { retryable: false });
}

/** True when `contentType` is of the expected media type, whatever its parameters. */
export function isMediaType(contentType: string | undefined, expected: string): boolean {
  return mediaType(contentType ?? '') === mediaType(expected);
}

function mediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}
