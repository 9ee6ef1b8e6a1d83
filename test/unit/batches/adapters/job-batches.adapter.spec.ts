import { describe, expect, it } from '@jest/globals';
import { JobBatchesAdapter } from '../../../../src/batches/adapters/job-batches.adapter.js';
import { aBatch } from '../../../support/builders.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';

describe('JobBatchesAdapter', () => {
  it('cancels what is queued or runs, and keeps each lockToken', async () => {
    const statuses = ['queued', 'running', 'succeeded', 'dead', 'cancelled'] as const;
    const rows = new InMemoryBatchRepository().put(...statuses.map((status, batchNo) => aBatch({ batchNo, status, lockToken: 4 })));
    await new JobBatchesAdapter(rows).cancel('job-1', 1);
    const after = await rows.list('job-1');
    expect(after.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'succeeded', 'dead', 'cancelled']);
    expect(after.every(({ lockToken }) => lockToken === 4)).toBe(true);
  });

  it('Batches cancelled IF their run is not newer, also when they are moved between look and write', async () => {
    const rows = new InMemoryBatchRepository().put(aBatch({ batchNo: 0 }), aBatch({ batchNo: 1, run: 2 }));
    rows.gate.next('cancelBatch', () => void rows.put(aBatch({ batchNo: 0, run: 2 })));
    await new JobBatchesAdapter(rows).cancel('job-1', 1);
    expect((await rows.list('job-1')).map(({ status }) => status)).toEqual(['queued', 'queued']);
  });

  it('cancels more batches than it writes at once', async () => {
    const rows = new InMemoryBatchRepository().put(...Array.from({ length: 50 }, (_, batchNo) => aBatch({ batchNo })));
    await new JobBatchesAdapter(rows).cancel('job-1', 1);
    expect(new Set((await rows.list('job-1')).map(({ status }) => status))).toEqual(new Set(['cancelled']));
  });
});
