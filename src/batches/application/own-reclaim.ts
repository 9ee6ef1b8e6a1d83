import type { BatchEntity, BatchStatus } from '../domain/batch.entity.js';
import type { BatchRepositoryPort, BatchWrite } from './batch-repository.port.js';

/**
 * A reclaim whose reply was lost, or whose retry met its own write, recognises itself by its id.
 * @returns the row as the reclaim left it; `undefined`: someone moved the batch since it was observed
 * @throws what the write threw, when the row does not show it: whether the batch moved is unknown then
 */
export async function writeOwnReclaim(
  batches: BatchRepositoryPort,
  { jobId, batchNo }: { jobId: string; batchNo: number },
  as: { status: BatchStatus; reclaimId: string },
  write: () => Promise<BatchWrite>,
): Promise<BatchEntity | undefined> {
  const own = async () => {
    const row = await batches.find(jobId, batchNo);
    return row?.status === as.status && row.reclaimId === as.reclaimId ? row : undefined;
  };
  let written: BatchWrite;
  try {
    written = await write();
  } catch (error) {
    const row = await own();
    if (row === undefined) throw error;
    return row;
  }
  return written.kind === 'written' ? written.batch : own();
}
