import { createHash } from 'node:crypto';
import { joinCrcs } from '../../../infra/local-aws/s3/body/crc.js';

/** What is left of a body. */
export interface Digest {
  sizeBytes: number;
  /** CRC-32, four bytes, most significant first. */
  crc32: Buffer;
  /** MD5 where the store can tell it cheaply, else what stands for it in an ETag. */
  md5: Buffer;
  /** Of the few whose bytes are read again. */
  bytes?: Buffer;
}

export interface SinkObject {
  sizeBytes: number;
  crc32: Buffer;
  /** Quoted. */
  etag: string;
  /** `x-amz-meta-…` as sent. */
  metadata: ReadonlyMap<string, string>;
  bytes?: Buffer;
}

interface OpenUpload {
  key: string;
  metadata: ReadonlyMap<string, string>;
  parts: Map<number, Digest>;
}

/** Objects and uploads without their bytes, but for those that were kept. */
export class SinkStore {
  readonly objects = new Map<string, SinkObject>();
  private readonly uploads = new Map<string, OpenUpload>();
  private lastUpload = 0;

  clear(): void {
    this.objects.clear();
    this.uploads.clear();
  }

  get openUploads(): number {
    return this.uploads.size;
  }

  put(key: string, { sizeBytes, crc32, md5, bytes }: Digest, metadata: ReadonlyMap<string, string>): SinkObject {
    const object = { sizeBytes, crc32, etag: `"${md5.toString('hex')}"`, metadata, ...(bytes !== undefined && { bytes }) };
    this.objects.set(key, object);
    return object;
  }

  create(key: string, metadata: ReadonlyMap<string, string>): string {
    const uploadId = `upload-${++this.lastUpload}`;
    this.uploads.set(uploadId, { key, metadata, parts: new Map() });
    return uploadId;
  }

  /** Answers the ETag, or undefined when there is no such upload. */
  putPart(uploadId: string, partNumber: number, digest: Digest): string | undefined {
    const upload = this.uploads.get(uploadId);
    upload?.parts.set(partNumber, digest);
    return upload && `"${digest.md5.toString('hex')}"`;
  }

  /** All parts there are, in order; undefined when there is no such upload. */
  complete(uploadId: string): SinkObject | undefined {
    const upload = this.uploads.get(uploadId);
    if (upload === undefined) return undefined;
    this.uploads.delete(uploadId);
    const parts = [...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part);
    const md5 = createHash('md5');
    for (const part of parts) md5.update(part.md5);
    const kept = parts.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes]));
    const object = {
      ...(kept.length > 0 && { bytes: Buffer.concat(kept) }),
      sizeBytes: parts.reduce((sum, part) => sum + part.sizeBytes, 0),
      crc32: joinCrcs(
        'CRC32',
        parts.map((part) => ({ crc: part.crc32, size: part.sizeBytes })),
      ),
      etag: `"${md5.digest('hex')}-${parts.length}"`,
      metadata: upload.metadata,
    };
    this.objects.set(upload.key, object);
    return object;
  }

  abort(uploadId: string): void {
    this.uploads.delete(uploadId);
  }
}
