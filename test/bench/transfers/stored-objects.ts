import { BenchError } from '../report/bench-error.js';
import type { PlannedFile } from './transfer-plan.js';

/** What the sink says that it got. */
export interface StoredObjects {
  objects: [key: string, sizeBytes: number, crc32: string][];
  openUploads: number;
}

/** @throws BenchError unless every file is there with the bytes that the origin has, nothing else, and no upload was left open */
export function judgeStored(contender: string, files: readonly PlannedFile[], { objects, openUploads }: StoredObjects): void {
  const stored = new Map(objects.map(([key, sizeBytes, crc32]) => [key, { sizeBytes, crc32 }]));
  const missing = files.filter(({ key }) => !stored.has(key));
  const wrong = files.filter(({ key, sizeBytes, crc32 }) => {
    const object = stored.get(key);
    return object !== undefined && (object.sizeBytes !== sizeBytes || object.crc32 !== crc32);
  });
  const extra = stored.size + missing.length - files.length;
  if (missing.length + wrong.length + extra + openUploads === 0) return;
  const example = [...missing, ...wrong][0]?.key;
  throw new BenchError(
    `${contender} did not do its work: of ${files.length} files ${missing.length} are missing and ${wrong.length} differ` +
      `${example === undefined ? '' : ` (such as ${example})`}; ${extra} objects too many; ${openUploads} uploads left open.`,
  );
}
