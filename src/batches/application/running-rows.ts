import type { BatchEntity } from '../domain/batch.entity.js';
import type { BatchRepositoryPort } from './batch-repository.port.js';

/** The running batches by pages: the index finds candidates, their rows tell. */
export async function* runningRows(batches: BatchRepositoryPort): AsyncIterable<BatchEntity[]> {
  for await (const keys of batches.listRunning()) yield (await batches.findMany(keys)).filter(({ status }) => status === 'running');
}
