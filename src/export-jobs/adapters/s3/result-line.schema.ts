import { z } from 'zod';

/** A line of `SUCCEEDED_…jsonl`; `null` is what a takeover could not know again. URLs have no query. */
export interface SucceededLine {
  index: number;
  url: string;
  key: string;
  size: number | null;
  etag: string | null;
  sha256: string | null;
  attempts: number | null;
  durationMs: number | null;
}

/** A line of `FAILED_…jsonl`. */
const failedLineSchema = z.object({
  index: z.number().int(),
  url: z.string(),
  key: z.string(),
  code: z.string(),
  message: z.string().nullable(),
  httpStatus: z.number().nullable(),
  attempts: z.number().nullable(),
});
export type FailedLine = z.infer<typeof failedLineSchema>;

/** @throws ZodError */
export function parseFailedLine(line: string): FailedLine {
  return failedLineSchema.parse(JSON.parse(line));
}
