import { z } from 'zod';
import type { BatchMessage } from '../application/batch-queue.port.js';

export const MESSAGE_VERSION = 1;

const batchMessageSchema = z.object({
  v: z.literal(MESSAGE_VERSION),
  jobId: z.string().min(1),
  batchNo: z.number().int().min(0),
  run: z.number().int().min(1),
});

export function encodeBatchMessage(message: BatchMessage): string {
  const { jobId, batchNo, run } = message;
  return JSON.stringify({ v: MESSAGE_VERSION, jobId, batchNo, run });
}

/** `newer`: of a version that this process does not know; it is left for one that does. */
export function parseBatchMessage(body: string): { kind: 'ok'; message: BatchMessage } | { kind: 'newer' } | { kind: 'unusable' } {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { kind: 'unusable' };
  }
  const parsed = batchMessageSchema.safeParse(json);
  if (parsed.success) return { kind: 'ok', message: { jobId: parsed.data.jobId, batchNo: parsed.data.batchNo, run: parsed.data.run } };
  const version = z.object({ v: z.number().int().gt(MESSAGE_VERSION) }).safeParse(json);
  return { kind: version.success ? 'newer' : 'unusable' };
}
