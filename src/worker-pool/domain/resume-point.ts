import { TransferError } from './transfer-error.js';

/** From where on, and of what, the rest of a cut body is asked for. */
export interface ResumePoint {
  /** Bytes that are here already. */
  offset: number;
  /** The whole, if known. */
  total: number | undefined;
  /** A strong ETag or a date that tells this content from any other. */
  validator: string;
  contentEncoding: string | undefined;
}

/** What the answer to a request for the rest says of itself. */
export interface PartialAnswer {
  contentRange?: string;
  contentType?: string;
  contentEncoding?: string;
  etag?: string;
  lastModified?: string;
}

/** A date tells two versions apart only if nothing can still be written in its second, whichever clock it was read from (RFC 9110, 8.8.2.2). */
const SETTLED_MS = 60_000;

/**
 * What `If-Range` may name: a strong ETag or, where there is none at all, a settled Last-Modified. A weak ETag may stay while bytes
 * change, and forbids the date (RFC 9110, 13.1.5).
 */
export function resumeValidator(answer: { etag?: string; lastModified?: string; date?: string }): string | undefined {
  if (answer.etag !== undefined) return isStrongEtag(answer.etag) ? answer.etag : undefined;
  const ageMs = Date.parse(answer.date ?? '') - Date.parse(answer.lastModified ?? '');
  return ageMs >= SETTLED_MS ? answer.lastModified : undefined;
}

export function isStrongEtag(text: string): boolean {
  return /^"[\x21\x23-\x7e]*"$/.test(text);
}

/**
 * The total of a 206 that is the rest of the same content and nothing else. It has to name its validator itself: some servers answer
 * a Range and pass over the If-Range.
 * @throws TransferError `NOT_RESUMABLE`
 */
export function totalOfRest(answer: PartialAnswer, point: ResumePoint): number {
  const [, first, last, all] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(answer.contentRange?.trim() ?? '') ?? [];
  const total = Number(all);
  const isRest = Number(first) === point.offset && Number(last) === total - 1;
  const isSameLength = point.total === undefined || total === point.total;
  const isSameVersion = point.validator === (isStrongEtag(point.validator) ? answer.etag : answer.lastModified);
  const isSameCoding = answer.contentEncoding === undefined || answer.contentEncoding === point.contentEncoding;
  const isOnePart = !/^multipart\/byteranges/i.test(answer.contentType ?? '');
  if (isRest && isSameLength && isSameVersion && isSameCoding && isOnePart) return total;
  throw new TransferError('NOT_RESUMABLE', 'the source did not answer with the rest of the same file', { retryable: false });
}
