import { withoutUndefined } from '../../shared/index.js';

/** What a jobId may be; anything else in its place may be a secret. */
const JOB_ID = /^[A-Za-z0-9._+!@='()-]{1,128}$/;
const BYTE_ORDER_MARK = '\uFEFF';

/** Which job a message is about, and which of its batches: for logs. What else it holds stays out of them; what it does not say is left out. */
export function idsOf({ body }: { body: string }): { jobId?: string; batchNo?: number } {
  const { jobId, batchNo } = fieldsOf(body);
  return withoutUndefined<ReturnType<typeof idsOf>>({
    jobId: typeof jobId === 'string' && JOB_ID.test(jobId) ? jobId : undefined,
    batchNo: typeof batchNo === 'number' ? batchNo : undefined,
  });
}

function fieldsOf(body: string): { jobId?: unknown; batchNo?: unknown } {
  try {
    const json = JSON.parse(body.startsWith(BYTE_ORDER_MARK) ? body.slice(1) : body) as unknown;
    return typeof json === 'object' && json !== null ? json : {};
  } catch {
    return {};
  }
}
