import type { ExportRequest } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';

/** A manifest that has been read to its end and found wholly valid. */
export interface SpooledManifest {
  totalTasks: number;
  /** The tasks in order, from the beginning; may be read more than once. */
  tasks(): AsyncIterable<ManifestTask>;
  dispose(): Promise<void>;
}

export abstract class ManifestPort {
  /**
   * Reads the whole list of a request's files once and keeps it out of memory.
   * @param onProgress called now and then while it is read
   * @throws AppError: disposition `reject` when the manifest is at fault, `retry` when it could not be reached
   */
  abstract spool(request: ExportRequest, signal: AbortSignal, onProgress: () => void): Promise<SpooledManifest>;
}
