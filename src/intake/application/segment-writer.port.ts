import type { ExportRequest } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';

export abstract class SegmentWriterPort {
  /**
   * Writes the segment of one batch: a header with what its tasks share, then a line a task.
   * @throws StoreError
   */
  abstract write(
    request: ExportRequest,
    at: { key: string; batchNo: number; firstIndex: number },
    tasks: readonly ManifestTask[],
  ): Promise<void>;
}
