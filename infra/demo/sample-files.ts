import { createCipheriv, createHash } from 'node:crypto';
import { RunningCrc } from '../local-aws/s3/body/crc.js';
import type { Checksum, ChecksumAlgorithm } from '../../src/shared/index.js';

/** How the origin serves a file: `busy` answers 503 twice before, `trickle` takes its time, `cut` breaks off once, `missing` is 404. */
export type Behaviour = 'plain' | 'busy' | 'trickle' | 'cut' | 'missing';

interface SampleDefinition {
  key: string;
  size: number;
  behaviour: Behaviour;
}

export interface SampleFile extends SampleDefinition {
  index: number;
  /** Lower-case hex. */
  sha256: string;
  /** What the manifest says of it; some lists know neither. */
  stated: { size?: number; checksum?: Checksum };
}

const FILE_COUNT = 60;
const CHUNK_BYTES = 256 * 1024;
const PART_BYTES = 8 * 1024 * 1024;
const ALGORITHMS: (ChecksumAlgorithm | undefined)[] = ['sha256', 'md5', 'sha1', 'crc32', 'sha512', undefined, 'crc32c', 'crc64nvme'];

/** The trickle first, so that everything else happens while it lasts. Sizes around the limits of a single upload and of a part. */
const SPECIAL: SampleDefinition[] = [
  { key: 'slow/trickle.bin', size: 160_000, behaviour: 'trickle' },
  { key: 'large/forty-megabytes.bin', size: 40_000_000, behaviour: 'plain' },
  { key: 'large/two-parts-and-a-byte.bin', size: 2 * PART_BYTES + 1, behaviour: 'plain' },
  { key: 'large/one-part.bin', size: PART_BYTES, behaviour: 'plain' },
  { key: 'busy/first.bin', size: 200_000, behaviour: 'busy' },
  { key: 'busy/second.bin', size: 3_000, behaviour: 'busy' },
  { key: 'cut/half-way.bin', size: 3_000_000, behaviour: 'cut' },
  { key: 'gone/nobody-has-it.bin', size: 1, behaviour: 'missing' },
  { key: 'small/empty.txt', size: 0, behaviour: 'plain' },
  { key: 'small/one byte, with ünusual näme.txt', size: 1, behaviour: 'plain' },
];

/** The files of the demo, the same at every run; hashes what each will contain. */
export function sampleFiles(): SampleFile[] {
  const reports = Array.from({ length: FILE_COUNT - SPECIAL.length }, (_, index): SampleDefinition => {
    const number = String(index + 1).padStart(2, '0');
    return { key: `reports/report-${number}.csv`, size: 500 + ((index * 7_919) % 61) * 4_321, behaviour: 'plain' };
  });
  return [...SPECIAL, ...reports].map(withHashes);
}

/** The bytes of a file: a keystream, so no part of it looks like another, at a gigabyte a second and with nothing held. */
export function* contentOf({ key, size }: SampleDefinition, chunkBytes = CHUNK_BYTES): Generator<Buffer> {
  const seed = createHash('md5').update(key).digest();
  const keystream = createCipheriv('aes-128-ctr', seed, Buffer.alloc(16));
  for (let left = size; left > 0; left -= chunkBytes) yield keystream.update(Buffer.alloc(Math.min(left, chunkBytes)));
}

function withHashes(definition: SampleDefinition, index: number): SampleFile {
  const algorithm = definition.size > 1_000_000 ? 'sha256' : ALGORITHMS[index % ALGORITHMS.length];
  const sha256 = createHash('sha256');
  const stated = algorithm === undefined ? undefined : hasher(algorithm);
  for (const chunk of contentOf(definition)) {
    sha256.update(chunk);
    stated?.update(chunk);
  }
  const value = stated?.digest().toString('hex');
  return {
    ...definition,
    index,
    sha256: sha256.digest('hex'),
    stated: {
      ...(index % 7 === 6 ? {} : { size: definition.size }),
      ...(algorithm === undefined || value === undefined ? {} : { checksum: { algorithm, value } }),
    },
  };
}

function hasher(algorithm: ChecksumAlgorithm): { update(chunk: Buffer): unknown; digest(): Buffer } {
  switch (algorithm) {
    case 'crc32':
      return new RunningCrc('CRC32');
    case 'crc32c':
      return new RunningCrc('CRC32C');
    case 'crc64nvme':
      return new RunningCrc('CRC64NVME');
    case 'md5':
    case 'sha1':
    case 'sha256':
    case 'sha512':
      return createHash(algorithm);
    default:
      return algorithm satisfies never;
  }
}
