import { maskUrl, type Checksum } from '../../shared/index.js';
import { parseS3Uri } from './s3-uri.js';
import type { TaskOutcome, TransferTask } from './transfer-task.js';

/** S3 allows 2 KB of user metadata, names and values together, in ASCII. */
const MAX_METADATA_BYTES = 2_048;
const MAX_SOURCE_URL = 1_024;
const UPLOAD_ATTEMPT = 'upload-attempt';

/** What a source told of itself, as far as it identifies one version of its content. */
export interface SourceVersion {
  size?: number;
  etag?: string;
  lastModified?: string;
}

export interface StoredObject {
  size: number;
  etag: string;
  metadata: Readonly<Record<string, string>>;
}

/** User metadata of the object of a task, the most telling first: what no longer fits is left out. */
export function objectMetadata(
  task: TransferTask,
  source: SourceVersion,
  uploadAttemptId: string,
  sha256: string | undefined,
): Record<string, string> {
  const wanted: [string, string | undefined][] = [
    [UPLOAD_ATTEMPT, uploadAttemptId],
    ['checksum', task.checksum && checksumText(task.checksum)],
    ['sha256', sha256],
    ['source-etag', source.etag && ascii(source.etag)],
    ['source-last-modified', source.lastModified && ascii(source.lastModified)],
    ['source-url', sourceUrl(task.url)],
    ['job-id', ascii(task.jobId)],
    ['task-id', ascii(task.taskId)],
  ];
  const metadata: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of wanted) {
    if (value === undefined || value === '' || bytes + name.length + value.length > MAX_METADATA_BYTES) continue;
    metadata[name] = value;
    bytes += name.length + value.length;
  }
  return metadata;
}

/**
 * True when the stored object is what this task would store: of the same size, and with the same given checksum, or, where none
 * is given, from the same URL with the same strong ETag. All our objects were verified before they became visible.
 */
export function isSameObject(stored: StoredObject, task: TransferTask, source: SourceVersion): boolean {
  const size = task.size ?? source.size;
  if (size === undefined || stored.size !== size) return false;
  if (task.checksum !== undefined) return stored.metadata['checksum'] === checksumText(task.checksum);
  if (source.etag === undefined || source.etag.startsWith('W/')) return false;
  return stored.metadata['source-etag'] === ascii(source.etag) && stored.metadata['source-url'] === sourceUrl(task.url);
}

/** True when it was stored by this attempt, whose answer was then lost. */
export function isOfAttempt(stored: StoredObject, attemptId: string): boolean {
  return stored.metadata[UPLOAD_ATTEMPT] === attemptId;
}

/** The outcome of a task whose object is there already. */
export function leftAlone({ size, etag, metadata }: StoredObject): TaskOutcome {
  const sha256 = metadata['sha256'];
  return { success: true, skipped: true, bytesProcessed: size, etag, ...(sha256 !== undefined && { sha256 }) };
}

function checksumText(checksum: Checksum): string {
  return `${checksum.algorithm}:${checksum.value}`;
}

/** ASCII; without query, fragment and userinfo, which may hold credentials. A cut never leaves half an escape. */
function sourceUrl(url: string): string {
  const bare = parseS3Uri(url) === undefined ? maskUrl(url) : ascii(url);
  return bare.slice(0, MAX_SOURCE_URL).replace(/%[0-9A-F]?$/i, '');
}

function ascii(text: string): string {
  const loneSurrogates = /\p{Surrogate}/gu;
  return encodeURI(text.replace(loneSurrogates, '\uFFFD'));
}
