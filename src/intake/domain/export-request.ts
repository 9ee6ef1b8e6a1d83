import type { ManifestTask } from './manifest-task.js';
import type { KeyFrom } from './source-url.js';

export const MANIFEST_FORMATS = ['list', 'jsonl', 'json', 'csv', 'tsv-http-data'] as const;
export type ManifestFormat = (typeof MANIFEST_FORMATS)[number];

/** How a list of files is to be read. */
export interface ListReading {
  /** Told by the list itself when absent. */
  format?: ManifestFormat | undefined;
  /** For files that have no key of their own; default `name`. */
  keyFrom?: KeyFrom | undefined;
  /** Columns of a CSV, and names in JSON, that the sender knows not to be ours. */
  ignoreColumns?: readonly string[] | undefined;
  /** A list without any file is in order. */
  allowEmpty?: boolean | undefined;
}

/** Where the list of files comes from. */
export type RequestSource =
  | { kind: 'files'; files: readonly ManifestTask[] }
  /** `uri`: s3, http or https. `trusted`: an operator named the place, not the message. */
  | { kind: 'manifest'; uri: string; trusted: boolean; reading?: ListReading };

/** One export as asked for, with this service's defaults filled in. */
export interface ExportRequest {
  jobId: string;
  exportId: string;
  userId: string;
  taskToken?: string;
  source: RequestSource;
  destination: { bucket: string; prefix: string };
  tolerance: { count?: number | undefined; percentage?: number | undefined };
  failFast?: boolean;
  /** Sent with every request of the job's files; may hold credentials. */
  headers?: Record<string, string>;
  expectContentType?: string;
  maxConcurrency?: number;
  metadata?: Record<string, unknown>;
  /** The request as sent, without token and defaults: two messages ask for the same if this is the same. */
  requestJson: string;
  requestHash: string;
}

/** At most this many batches a job: its row stays a few KB. */
const MAX_BATCHES = 1_000;

/** Tasks in each batch of a job but its last. */
export function batchSizeFor(totalTasks: number, smallest: number): number {
  return Math.max(smallest, Math.ceil(totalTasks / MAX_BATCHES));
}
