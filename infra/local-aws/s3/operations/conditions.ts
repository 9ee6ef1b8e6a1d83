import { s3Error } from '../errors.js';
import { unquoted } from '../reply.js';
import type { S3Request } from '../request.js';
import type { ByteRange } from '../store/body-files.js';
import type { StoredObject } from '../store/model.js';

type Headers = (name: string) => string | undefined;

/**
 * If-Match decides before If-Unmodified-Since, If-None-Match before If-Modified-Since, as in RFC 9110.
 * @throws PreconditionFailed, and NotModified where an `If-None-Match` or `If-Modified-Since` says that the reader has it already
 */
export function checkReadConditions(header: Headers, object: StoredObject): void {
  const { etag } = object;
  // HTTP dates have whole seconds.
  const modifiedMs = Math.floor(Date.parse(object.lastModifiedIso) / 1_000) * 1_000;
  const [match, unmodifiedSince] = [header('if-match'), header('if-unmodified-since')];
  if (match !== undefined ? !names(match, etag) : unmodifiedSince !== undefined && modifiedMs > Date.parse(unmodifiedSince)) {
    throw s3Error('PreconditionFailed');
  }
  const [noneMatch, modifiedSince] = [header('if-none-match'), header('if-modified-since')];
  if (noneMatch !== undefined ? names(noneMatch, etag) : modifiedSince !== undefined && modifiedMs <= Date.parse(modifiedSince)) {
    throw s3Error('NotModified');
  }
}

/** A write may demand that the key is free (`If-None-Match: *`) or holds a certain object. @throws PreconditionFailed, NoSuchKey */
export function checkWriteConditions(request: S3Request, existing: StoredObject | undefined): void {
  const noneMatch = request.header('if-none-match');
  if (noneMatch !== undefined && noneMatch !== '*') throw s3Error('NotImplemented');
  if (noneMatch === '*' && existing !== undefined) throw s3Error('PreconditionFailed');
  const match = request.header('if-match');
  if (match === undefined) return;
  if (existing === undefined) throw s3Error('NoSuchKey');
  if (!names(match, existing.etag)) throw s3Error('PreconditionFailed');
}

function names(list: string, etag: string): boolean {
  return list.split(',').some((item) => item.trim() === '*' || unquoted(item) === etag);
}

/** The bytes asked for; undefined for all of them, also where the header is none that S3 understands. @throws InvalidRange */
export function readRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  if (start >= size) throw s3Error('InvalidRange', undefined, { ActualObjectSize: size });
  return { start, end };
}
