import { JOB_ID, withoutUndefined } from '../../shared/index.js';

/** Editors on Windows write it in front of a file; JSON allows it, and JSON.parse does not. */
const BYTE_ORDER_MARK = '\uFEFF';

/** @throws SyntaxError when the body of a message is no JSON */
export function jsonOf(body: string): unknown {
  return JSON.parse(body.startsWith(BYTE_ORDER_MARK) ? body.slice(1) : body);
}

/** Which job a message is about, and which of its batches: for logs. What else it holds stays out of them; what it does not say is left out. */
export function idsOf({ body }: { body: string }): { jobId?: string; batchNo?: number } {
  const { jobId, batchNo } = fieldsOf(body);
  return withoutUndefined<ReturnType<typeof idsOf>>({
    // Anything else in its place may be a secret.
    jobId: typeof jobId === 'string' && JOB_ID.test(jobId) ? jobId : undefined,
    batchNo: typeof batchNo === 'number' ? batchNo : undefined,
  });
}

function fieldsOf(body: string): { jobId?: unknown; batchNo?: unknown } {
  try {
    const json = jsonOf(body);
    return typeof json === 'object' && json !== null ? json : {};
  } catch {
    return {};
  }
}
