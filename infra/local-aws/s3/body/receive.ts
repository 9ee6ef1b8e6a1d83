import { createHash } from 'node:crypto';
import { Transform, Writable, type Readable, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { s3Error } from '../errors.js';
import type { S3Request } from '../request.js';
import { AwsChunkedDecoder } from './aws-chunked.js';
import { isChecksumValue, runningHash, type RunningHash } from './checksum.js';
import { readDocumentClaims, type BodyClaims } from './claims.js';

/** `entity`: MD5 for the ETag and everything claimed. `document`: what is claimed. */
export type Diligence = 'entity' | 'document';

export interface BodyDigests {
  /** Hex; only of an entity. */
  md5?: string;
  /** Base64, in the algorithm of the claims. */
  checksum?: string;
}

/** Reads a body to its end into the sink and holds it to its claims. @throws IncompleteBody, BadDigest and their kin. */
export async function receiveBody(source: Readable, claims: BodyClaims, sink: Writable, diligence: Diligence): Promise<BodyDigests> {
  const decoder = claims.chunked ? new AwsChunkedDecoder() : undefined;
  const meter = new BodyMeter(claims, diligence);
  try {
    await pipeline([source, ...(decoder ? [decoder] : []), meter, sink]);
  } catch (error) {
    throw isCutOff(error) ? s3Error('IncompleteBody') : error;
  }
  if (decoder?.problem) throw decoder.problem;
  if (meter.size !== claims.size) throw s3Error('IncompleteBody');
  return meter.verify(decoder ? claimOfTrailer(claims, decoder.trailers) : claims.checksum);
}

/** A small body as text. @throws EntityTooLarge */
export async function receiveDocument(request: S3Request, claims: BodyClaims = readDocumentClaims(request)): Promise<string> {
  // 10,000 parts with checksums, or 1,000 keys of 1,024 bytes, stay below it.
  const maxBytes = 8 * 1024 * 1024;
  if (claims.size > maxBytes) throw s3Error('EntityTooLarge');
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  await receiveBody(request.message, claims, sink, 'document');
  return Buffer.concat(chunks).toString('utf8');
}

class BodyMeter extends Transform {
  size = 0;
  private readonly md5: RunningHash | undefined;
  private readonly sha256: RunningHash | undefined;
  private readonly checksum: RunningHash | undefined;
  private readonly hashes: RunningHash[];

  constructor(
    private readonly claims: BodyClaims,
    private readonly diligence: Diligence,
  ) {
    super();
    this.md5 = diligence === 'entity' || claims.md5 !== undefined ? createHash('md5') : undefined;
    this.sha256 = claims.sha256 === undefined ? undefined : createHash('sha256');
    this.checksum = claims.algorithm && runningHash(claims.algorithm);
    this.hashes = [this.md5, this.sha256, this.checksum].filter((hash) => hash !== undefined);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.size += chunk.length;
    for (const hash of this.hashes) hash.update(chunk);
    done(null, chunk);
  }

  verify(claimedChecksum: string | undefined): BodyDigests {
    const { algorithm, md5, sha256 } = this.claims;
    if (this.sha256 && this.sha256.digest().toString('hex') !== sha256) throw s3Error('XAmzContentSHA256Mismatch');
    const md5Digest = this.md5?.digest();
    if (md5Digest && md5 !== undefined && md5Digest.toString('base64') !== md5) throw s3Error('BadDigest');
    const checksum = this.checksum?.digest().toString('base64');
    if (checksum !== undefined && claimedChecksum !== undefined && checksum !== claimedChecksum) {
      throw s3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`);
    }
    return {
      ...(md5Digest && this.diligence === 'entity' && { md5: md5Digest.toString('hex') }),
      ...(checksum !== undefined && { checksum }),
    };
  }
}

function isCutOff(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')
  );
}

/** The checksum claimed for a chunked body. @throws MalformedTrailerError unless exactly the announced trailer came. */
function claimOfTrailer(claims: BodyClaims, trailers: ReadonlyMap<string, string>): string | undefined {
  const unexpected = [...trailers.keys()].some((name) => name !== claims.trailer && name !== 'x-amz-trailer-signature');
  if (unexpected) throw s3Error('MalformedTrailerError');
  if (claims.trailer === undefined) return claims.checksum;
  const value = trailers.get(claims.trailer);
  if (value === undefined) throw s3Error('MalformedTrailerError');
  if (claims.algorithm && !isChecksumValue(claims.algorithm, value)) {
    throw s3Error('InvalidRequest', `Value for ${claims.trailer} trailing header is invalid.`);
  }
  return value;
}
