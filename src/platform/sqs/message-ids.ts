import { withoutSecrets, withoutUndefined } from '../../shared/index.js';

/** As long as a jobId may be. */
const MAX_ID_LENGTH = 128;

/** Which job a message is about, and which of its batches: for logs. What else it holds stays out of them; what it does not say is left out. */
export function idsOf({ body }: { body: string }): { jobId?: string; batchNo?: number } {
  const { jobId, batchNo } = fieldsOf(body);
  return withoutUndefined<ReturnType<typeof idsOf>>({
    jobId: typeof jobId === 'string' ? withoutSecrets(jobId.slice(0, MAX_ID_LENGTH)) : undefined,
    batchNo: typeof batchNo === 'number' ? batchNo : undefined,
  });
}

function fieldsOf(body: string): { jobId?: unknown; batchNo?: unknown } {
  try {
    const json = JSON.parse(body) as unknown;
    return typeof json === 'object' && json !== null ? json : {};
  } catch {
    return {};
  }
}
