import type { Checksum } from '../../shared/index.js';
import { isMediaType } from './http-response.js';
import type { SourceVersion } from './object-metadata.js';
import { MAX_PARTS } from './part-plan.js';
import type { TransferTask } from './transfer-task.js';

const MIB = 1024 * 1024;

/** What S3 tells of an object without its bytes. */
export interface CopySource extends SourceVersion {
  size: number;
  etag: string;
  contentType?: string;
  contentEncoding?: string;
  /** Of all its bytes, as S3 itself worked them out. */
  checksums: readonly Checksum[];
  metadata: Readonly<Record<string, string>>;
}

/** `stream` where the bytes must be looked at, or the answer to a download says better what is wrong. */
export type CopyVerdict = 'copy' | 'stream' | { checksumIs: string };

export function judgeCopy(task: TransferTask, source: CopySource): CopyVerdict {
  const isAsExpected =
    (task.size === undefined || task.size === source.size) &&
    (task.expectContentType === undefined || isMediaType(source.contentType, task.expectContentType));
  if (!isAsExpected) return 'stream';
  const { checksum } = task;
  if (checksum === undefined) return 'copy';
  const known = source.checksums.find(({ algorithm }) => algorithm === checksum.algorithm);
  if (known === undefined) return 'stream';
  return known.value === checksum.value ? 'copy' : { checksumIs: known.value };
}

/** Of an object that nobody here has read: S3's own, else what we stored with it when we had read it. */
export function knownSha256({ checksums, metadata }: CopySource): string | undefined {
  const told = checksums.find(({ algorithm }) => algorithm === 'sha256')?.value;
  const isOurs = metadata['upload-attempt'] !== undefined && /^[0-9a-f]{64}$/.test(metadata['sha256'] ?? '');
  return told ?? (isOurs ? metadata['sha256'] : undefined);
}

export interface CopyLimits {
  /** The most that S3 copies in one request. */
  wholeBytes: number;
  /** Of the parts of a larger object, as far as 10,000 of them hold it. */
  partBytes: number;
}

export const COPY_LIMITS: CopyLimits = { wholeBytes: 5 * 1024 * MIB, partBytes: 256 * MIB };

export interface CopyRange {
  /** 1, 2, 3 … */
  number: number;
  first: number;
  /** Inclusive. */
  last: number;
}

export function* copyRanges(size: number, limits: CopyLimits): Generator<CopyRange, void, void> {
  const partBytes = Math.max(limits.partBytes, Math.ceil(size / MAX_PARTS));
  for (let first = 0, number = 1; first < size; first += partBytes, number++)
    yield { number, first, last: Math.min(first + partBytes, size) - 1 };
}
