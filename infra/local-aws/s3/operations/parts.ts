import type { Readable } from 'node:stream';
import { readClaims, type BodyClaims } from '../body/claims.js';
import { s3Error } from '../errors.js';
import { quoted, type Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { StoredPart, Upload } from '../store/model.js';
import type { Store } from '../store/store.js';
import { checkBodySize, checksumHeaders } from './entity.js';

export const MAX_PARTS = 10_000;

/** @throws InvalidArgument */
export function readPartNumber(request: S3Request): number {
  const partNumber = request.number('partNumber', 0, { min: 1, max: MAX_PARTS });
  request.detail['partNumber'] = partNumber;
  return partNumber;
}

/** @throws NoSuchBucket, NoSuchUpload */
export function readUpload(request: S3Request, store: Store): Upload {
  const uploadId = request.query.get('uploadId') ?? '';
  request.detail['uploadId'] = uploadId;
  return store.bucket(request.bucket).upload(request.key, uploadId);
}

export async function uploadPart(request: S3Request, store: Store): Promise<Reply> {
  const partNumber = readPartNumber(request);
  const upload = readUpload(request, store);
  const claims = claimsOfPart(request, upload);
  checkBodySize(claims.size);
  const part = await storePart(request, store, partNumber, request.message, claims);
  const checksum = claims.algorithm && part.checksum !== undefined ? { algorithm: claims.algorithm, value: part.checksum } : undefined;
  return { status: 200, headers: { etag: quoted(part.etag), ...checksumHeaders(checksum) } };
}

/** A part of a COMPOSITE upload must bring the upload's checksum; for a FULL_OBJECT one S3 computes what is missing. */
function claimsOfPart(request: S3Request, upload: Upload): BodyClaims {
  const claims = readClaims(request);
  if (upload.checksum === undefined) return claims;
  const { algorithm, type } = upload.checksum;
  const mayLack = type === 'FULL_OBJECT' && claims.algorithm === undefined;
  if (!mayLack && claims.algorithm !== algorithm) {
    const actual = claims.algorithm?.toLowerCase() ?? 'null';
    const message = `Checksum Type mismatch occurred, expected checksum Type: ${algorithm.toLowerCase()}, actual checksum Type: ${actual}`;
    throw s3Error('InvalidRequest', message);
  }
  return { ...claims, algorithm };
}

export async function storePart(
  request: S3Request,
  store: Store,
  partNumber: number,
  bytes: Readable,
  claims: BodyClaims,
): Promise<StoredPart> {
  const { piece, md5, checksum } = await store.bodies.receive(bytes, claims);
  const part: StoredPart = {
    partNumber,
    etag: md5,
    lastModifiedIso: new Date().toISOString(),
    piece,
    ...(checksum !== undefined && { checksum }),
  };
  try {
    const upload = readUpload(request, store); // again: it may have been aborted or completed while the body came
    if (request.corrupt) store.bodies.flipByte(piece);
    store.bucket(request.bucket).putPart(upload, part);
  } catch (error) {
    store.bodies.drop([piece]);
    throw error;
  }
  request.detail['size'] = piece.size;
  return part;
}
