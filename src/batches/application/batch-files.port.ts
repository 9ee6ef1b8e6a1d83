import { chunksOf, type Checksum } from '../../shared/index.js';
import type { ResultFile } from '../domain/batch.entity.js';

/** A task as its segment holds it. */
export interface SegmentTask {
  url: string;
  /** Under the segment's prefix. */
  key: string;
  size?: number | undefined;
  checksum?: Checksum | undefined;
  headers?: Record<string, string> | undefined;
}

/** A batch's piece of the manifest, with what all its tasks share. */
export interface Segment {
  jobId: string;
  batchNo: number;
  /** Index in the job of the segment's first task. */
  firstIndex: number;
  bucket: string;
  prefix: string;
  headers?: Record<string, string> | undefined;
  expectContentType?: string | undefined;
  maxConcurrency?: number | undefined;
  tasks: readonly SegmentTask[];
}

/** How a task ended; `null` is what a takeover cannot know again. */
export type TaskResult =
  | {
      success: true;
      position: number;
      size: number | null;
      etag: string | null;
      sha256: string | null;
      attempts: number | null;
      durationMs: number | null;
    }
  | { success: false; position: number; code: string; message: string | null; httpStatus: number | null; attempts: number | null };

/** The files of a batch in S3. */
export abstract class BatchFilesPort {
  /** @throws AppError: `reject` when the segment is gone or is not one, and stays so; anything else may pass */
  abstract loadSegment(bucket: string, segmentKey: string, signal: AbortSignal): Promise<Segment>;
  /** What can be known of a task that an earlier holder brought: the object in S3 tells, if it is still there. */
  abstract describeDone(segment: Segment, position: number): Promise<TaskResult>;
  /**
   * Both files, always, one line per task in order.
   * @param at `fence`, a holder's lockToken or the reclaimId of whoever gives the batch up, keeps a late holder's files apart
   */
  abstract writeResults(
    at: { bucket: string; prefix: string; jobId: string; batchNo: number; fence: string },
    segment: Segment,
    results: readonly TaskResult[],
  ): Promise<{ succeeded: ResultFile; failed: ResultFile }>;
}

/** Objects asked about at the same time when an earlier holder's results are rebuilt. */
const DESCRIBED_AT_ONCE = 32;

/**
 * One result per task, in order.
 * @param fresh what this holder knows at first hand
 * @param describeDone asked about what an earlier holder brought
 */
export async function resultsInOrder(
  totalTasks: number,
  failures: ReadonlyMap<number, string>,
  fresh: ReadonlyMap<number, TaskResult> | undefined,
  describeDone: (position: number) => Promise<TaskResult>,
): Promise<TaskResult[]> {
  const resultOf = async (position: number): Promise<TaskResult> => {
    const known = fresh?.get(position);
    if (known !== undefined) return known;
    const code = failures.get(position);
    if (code === undefined) return describeDone(position);
    return { success: false, position, code, message: null, httpStatus: null, attempts: null };
  };
  const positions = Array.from({ length: totalTasks }, (_, position) => position);
  const results: TaskResult[] = [];
  for (const chunk of chunksOf(positions, DESCRIBED_AT_ONCE)) results.push(...(await Promise.all(chunk.map(resultOf))));
  return results;
}
