import { z } from 'zod';
import { CHECKSUM_ALGORITHMS } from '../../../shared/index.js';

/** Everything a coordinator needs to run a batch beside the tasks themselves; the segment's first line. */
const headerSchema = z.object({
  v: z.literal(1),
  jobId: z.string(),
  batchNo: z.number().int().min(0),
  /** Index in the job of the segment's first task. */
  firstIndex: z.number().int().min(0),
  bucket: z.string(),
  prefix: z.string(),
  headers: z.record(z.string(), z.string()).optional(),
  expectContentType: z.string().optional(),
  maxConcurrency: z.number().int().min(1).optional(),
});

const taskSchema = z.object({
  url: z.string(),
  /** Under the prefix. */
  key: z.string(),
  size: z.number().int().min(0).optional(),
  checksum: z.object({ algorithm: z.enum(CHECKSUM_ALGORITHMS), value: z.string() }).optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

export type SegmentHeader = z.infer<typeof headerSchema>;
export type SegmentTask = z.infer<typeof taskSchema>;

/** @throws ZodError when the line is not a header of a version we know. */
export function parseSegmentHeader(line: string): SegmentHeader {
  return headerSchema.parse(JSON.parse(line));
}

/** @throws ZodError when the line is not a task. */
export function parseSegmentTask(line: string): SegmentTask {
  return taskSchema.parse(JSON.parse(line));
}
