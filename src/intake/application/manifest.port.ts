import type { ExportRequest } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';
import type { ExpansionTurn } from './expansion-turns.js';

/** A manifest that has been read to its end and found wholly valid. */
export interface SpooledManifest {
  totalTasks: number;
  /** Files that were there before, word for word: they count once, and are not among the tasks. */
  repeatedTasks: number;
  /** The tasks in order, from the beginning; may be read more than once. */
  tasks(): AsyncIterable<ManifestTask>;
  dispose(): Promise<void>;
}

/** What a reading has and tells while it goes on. */
export interface ManifestReading {
  /** Ends the reading at once, whatever it waits for. */
  signal: AbortSignal;
  /** The reading has its place, except while it waits for the source. */
  turn: ExpansionTurn;
  /** Called when bytes came, before each wait that a host asked for, with how long it lasts, and after it. */
  onProgress: (wait?: { host: string; forMs: number }) => void;
}

export abstract class ManifestPort {
  /**
   * Reads the whole list of a request's files once and keeps it out of memory.
   * @throws AppError: disposition `reject` when the manifest is at fault, `retry` when it could not
   * be reached
   */
  abstract spool(request: ExportRequest, reading: ManifestReading): Promise<SpooledManifest>;
}
