import { s3Error } from '../errors.js';
import type { S3Request } from '../request.js';
import {
  asChecksumAlgorithm,
  CHECKSUM_ALGORITHMS,
  checksumHeader,
  isBase64Of,
  isChecksumValue,
  type ChecksumAlgorithm,
} from './checksum.js';

/** What a request says of its body before it comes. */
export interface BodyClaims {
  /** Bytes after decoding. */
  size: number;
  /** Whether it comes as `aws-chunked`. */
  chunked: boolean;
  /** Base64 of `Content-MD5`. */
  md5?: string;
  /** Hex of `x-amz-content-sha256`, where that is a hash. */
  sha256?: string;
  /** The checksum's algorithm, and its value unless a trailer brings it. */
  algorithm?: ChecksumAlgorithm;
  checksum?: string;
  /** Name of the trailer that brings the checksum. */
  trailer?: string;
}

/** Claims of a body that is an object or a part. @throws MissingContentLength, InvalidDigest, InvalidRequest */
export function readClaims(request: S3Request): BodyClaims {
  return { ...readDocumentClaims(request), ...readChecksumClaim(request) };
}

/** Claims of a body that is a document: CompleteMultipartUpload's checksum headers speak of the object, not of its body. */
export function readDocumentClaims(request: S3Request): BodyClaims {
  const contentSha256 = request.header('x-amz-content-sha256') ?? '';
  const chunked = contentSha256.startsWith('STREAMING-');
  const length = request.header(chunked ? 'x-amz-decoded-content-length' : 'content-length');
  if (length === undefined || !/^\d+$/.test(length)) throw s3Error('MissingContentLength');
  const claims: BodyClaims = { size: Number(length), chunked };
  if (/^[0-9a-f]{64}$/.test(contentSha256)) claims.sha256 = contentSha256;
  const md5 = request.header('content-md5');
  if (md5 !== undefined) {
    if (!isBase64Of(16, md5)) throw s3Error('InvalidDigest');
    claims.md5 = md5;
  }
  return claims;
}

/** The algorithm and value of the one checksum header that a request has. @throws InvalidRequest for more, or a malformed one. */
export function readChecksumHeader(request: S3Request): { algorithm: ChecksumAlgorithm; checksum: string } | undefined {
  const [first, second] = CHECKSUM_ALGORITHMS.filter((algorithm) => request.header(checksumHeader(algorithm)) !== undefined);
  if (first === undefined) return undefined;
  if (second !== undefined) {
    throw s3Error('InvalidRequest', 'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.');
  }
  return { algorithm: first, checksum: request.header(checksumHeader(first)) ?? '' };
}

function readChecksumClaim(request: S3Request): Pick<BodyClaims, 'algorithm' | 'checksum' | 'trailer'> {
  const header = readChecksumHeader(request);
  const trailer = request.header('x-amz-trailer')?.toLowerCase();
  if (header !== undefined) {
    if (!isChecksumValue(header.algorithm, header.checksum)) {
      throw s3Error('InvalidRequest', `Value for ${checksumHeader(header.algorithm)} header is invalid.`);
    }
    return header;
  }
  if (trailer !== undefined) {
    const algorithm = asChecksumAlgorithm(trailer.replace('x-amz-checksum-', ''));
    if (algorithm === undefined || trailer !== checksumHeader(algorithm)) {
      throw s3Error('InvalidRequest', 'The value specified in the x-amz-trailer header is not supported');
    }
    return { algorithm, trailer };
  }
  if (request.header('x-amz-sdk-checksum-algorithm') !== undefined) {
    throw s3Error(
      'InvalidRequest',
      'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.',
    );
  }
  return {};
}
