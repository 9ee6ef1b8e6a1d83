import { parseChecksum, type Checksum, type ChecksumAlgorithm } from '../../shared/index.js';
import { keyProblem } from './object-key.js';
import { headersProblem } from './request-headers.js';
import { fileNameOf, sourceUrlProblem } from './source-url.js';

/** One file of a job as its sender wrote it. */
export interface ManifestEntry {
  url: string;
  key?: string | undefined;
  size?: number | undefined;
  /** The value may be hex, base64 or base64url. */
  checksum?: { algorithm: ChecksumAlgorithm; value: string } | undefined;
  headers?: Record<string, string> | undefined;
}

/** One file of a job, checked and complete. */
export interface ManifestTask {
  /** http, https or s3. */
  url: string;
  /** Under the destination's prefix, which it does not contain. */
  key: string;
  /** Bytes. */
  size?: number;
  checksum?: Checksum;
  headers?: Record<string, string>;
}

/** What is wrong with one line of a manifest. The reason never shows a URL or a header's value. */
export interface ManifestProblem {
  /** 1 for the first. */
  line: number;
  reason: string;
}

export type TaskOutcome = { kind: 'task'; task: ManifestTask } | { kind: 'problem'; field: keyof ManifestEntry; reason: string };

/** Two tasks with one key are for the whole list to find; everything else is checked here. */
export function toManifestTask(entry: ManifestEntry, prefix: string): TaskOutcome {
  const badUrl = sourceUrlProblem(entry.url);
  if (badUrl !== undefined) return { kind: 'problem', field: 'url', reason: badUrl };
  const key = entry.key ?? fileNameOf(entry.url);
  if (key === undefined) return { kind: 'problem', field: 'key', reason: 'is missing and the URL has no file name to take: give a key' };
  const badKey = keyProblem(key, prefix);
  if (badKey !== undefined) return { kind: 'problem', field: 'key', reason: entry.key === undefined ? `(from the URL) ${badKey}` : badKey };
  const task: ManifestTask = { url: entry.url, key };
  if (entry.size !== undefined) {
    if (!Number.isSafeInteger(entry.size) || entry.size < 0)
      return { kind: 'problem', field: 'size', reason: 'is no whole number of bytes: give one, or leave it out' };
    task.size = entry.size;
  }
  if (entry.checksum !== undefined) {
    const { algorithm, value } = entry.checksum;
    const parsed = parseChecksum(algorithm, value);
    if (!parsed.ok) return { kind: 'problem', field: 'checksum', reason: parsed.reason };
    task.checksum = { algorithm, value: parsed.value };
  }
  if (entry.headers !== undefined) {
    const badHeaders = headersProblem(entry.headers);
    if (badHeaders !== undefined) return { kind: 'problem', field: 'headers', reason: badHeaders };
    task.headers = entry.headers;
  }
  return { kind: 'task', task };
}
