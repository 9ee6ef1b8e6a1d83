import type { Checksum } from '../../shared/index.js';
import { readChecksum, type GivenChecksum } from './given-checksum.js';
import { keyProblem } from './object-key.js';
import { headersProblem } from './request-headers.js';
import { keyOfUrl, plainScheme, sourceUrlProblem, type KeyFrom } from './source-url.js';

/** One file of a job as its sender wrote it; `null` is absent. */
export interface ManifestEntry {
  url: string;
  key?: string | null | undefined;
  size?: number | null | undefined;
  checksum?: GivenChecksum | null | undefined;
  headers?: Record<string, string> | null | undefined;
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

/** What decides the keys of a list's files. */
export interface Naming {
  /** The destination's: keys are checked with it. */
  prefix: string;
  /** Default `name`. */
  keyFrom?: KeyFrom | undefined;
}

export type TaskOutcome = { kind: 'task'; task: ManifestTask } | { kind: 'problem'; field: string; reason: string };

/** Two tasks with one key are for the whole list to find; everything else is checked here. */
export function toManifestTask(entry: ManifestEntry, { prefix, keyFrom = 'name' }: Naming): TaskOutcome {
  const badUrl = sourceUrlProblem(entry.url);
  if (badUrl !== undefined) return { kind: 'problem', field: 'url', reason: badUrl };
  const url = plainScheme(entry.url);
  const key = entry.key ?? keyOfUrl(url, keyFrom);
  if (key === undefined) return { kind: 'problem', field: 'key', reason: 'is missing and the URL has no file name to take: give a key' };
  const badKey = keyProblem(key, prefix);
  if (badKey !== undefined)
    return { kind: 'problem', field: 'key', reason: isGiven(entry.key) ? badKey : `(from the URL) ${badKey}, or give a key` };
  const task: ManifestTask = { url, key };
  if (isGiven(entry.size)) {
    if (!Number.isSafeInteger(entry.size) || entry.size < 0)
      return { kind: 'problem', field: 'size', reason: 'is no whole number of bytes: give one, or leave it out' };
    task.size = entry.size;
  }
  if (isGiven(entry.checksum)) {
    const read = readChecksum(entry.checksum);
    if (read.kind === 'problem') return read;
    task.checksum = read.checksum;
  }
  if (isGiven(entry.headers)) {
    const badHeaders = headersProblem(entry.headers);
    if (badHeaders !== undefined) return { kind: 'problem', field: 'headers', reason: badHeaders };
    task.headers = entry.headers;
  }
  return { kind: 'task', task };
}

/** How to give another key to a file whose key another one has. */
export function ownKeys(given: ManifestEntry['key'], { keyFrom = 'name' }: Pick<Naming, 'keyFrom'>): string {
  const own = 'give each file a key of its own';
  return isGiven(given) || keyFrom === 'path' ? own : `${own}, or take host and path of its URL (source.keyFrom: path, or --key-from path)`;
}

/** Everything of two files but their keys: with one key, they are one file when this is the same. */
export function contentOf({ url, size, checksum, headers }: ManifestTask): string {
  const sum = checksum === undefined ? '' : `${checksum.algorithm}:${checksum.value}`;
  return `${url}\n${size ?? ''}\n${sum}\n${headers === undefined ? '' : JSON.stringify(headers)}`;
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
