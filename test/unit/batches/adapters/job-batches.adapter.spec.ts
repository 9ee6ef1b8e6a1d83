import { describe, expect, it } from '@jest/globals';
import { JobBatchesAdapter } from '../../../../src/batches/adapters/job-batches.adapter.js';
import { aBatch } from '../../../support/builders.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FakeBatchQueue } from '../../../support/fakes/fake-batch-ports.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';

const SENT_ISO = '2026-01-01T00:10:00.000Z';
const adapterOf = (rows: InMemoryBatchRepository, queue = new FakeBatchQueue(rows.gate)) =>
  new JobBatchesAdapter(rows, queue, new FakeClock(SENT_ISO));

describe('JobBatchesAdapter', () => {
  it('cancels what is queued or runs, and keeps each lockToken', async () => {
    const statuses = ['queued', 'running', 'succeeded', 'dead', 'cancelled'] as const;
    const rows = new InMemoryBatchRepository().put(...statuses.map((status, batchNo) => aBatch({ batchNo, status, lockToken: 4 })));
    await adapterOf(rows).cancel('job-1', 1);
    const after = await rows.list('job-1');
    expect(after.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'succeeded', 'dead', 'cancelled']);
    expect(after.every(({ lockToken }) => lockToken === 4)).toBe(true);
  });

  it('Batches cancelled IF their run is not newer, also when they are moved between look and write', async () => {
    const rows = new InMemoryBatchRepository().put(aBatch({ batchNo: 0 }), aBatch({ batchNo: 1, run: 2 }));
    rows.gate.next('cancelBatch', () => void rows.put(aBatch({ batchNo: 0, run: 2 })));
    await adapterOf(rows).cancel('job-1', 1);
    expect((await rows.list('job-1')).map(({ status }) => status)).toEqual(['queued', 'queued']);
  });

  it('cancels more batches than it writes at once', async () => {
    const rows = new InMemoryBatchRepository().put(...Array.from({ length: 50 }, (_, batchNo) => aBatch({ batchNo })));
    await adapterOf(rows).cancel('job-1', 1);
    expect(new Set((await rows.list('job-1')).map(({ status }) => status))).toEqual(new Set(['cancelled']));
  });

  describe('sendAgain', () => {
    async function sendAgain(prepare: (rows: InMemoryBatchRepository) => void) {
      const rows = new InMemoryBatchRepository().put(aBatch({ batchNo: 0 }), aBatch({ batchNo: 1 }));
      const queue = new FakeBatchQueue(rows.gate);
      const observed = await rows.list('job-1');
      prepare(rows);
      await adapterOf(rows, queue).sendAgain('job-1', observed);
      return { rows, sent: queue.sent.map(({ batchNo }) => batchNo) };
    }

    it('Send queued batches again, and note when', async () => {
      const { rows, sent } = await sendAgain(() => undefined);
      expect(sent).toEqual([0, 1]);
      expect(rows.get(0).enqueuedAt).toBe(SENT_ISO);
    });

    it('Re-send IF enqueuedAt as observed: who finds it sent meanwhile sends nothing', async () => {
      const { sent } = await sendAgain((rows) => void rows.put(aBatch({ batchNo: 0, enqueuedAt: '2026-01-01T00:09:59.000Z' })));
      expect(sent).toEqual([1]);
    });

    it('sends nothing for a batch that was claimed or moved to another run meanwhile', async () => {
      const { sent } = await sendAgain((rows) => void rows.put(aBatch({ batchNo: 0, status: 'running' }), aBatch({ batchNo: 1, run: 2 })));
      expect(sent).toEqual([]);
    });

    it('sends when its own write was met by a retry', async () => {
      const { sent } = await sendAgain((rows) => rows.gate.next('markSent', 'retried'));
      expect(sent).toEqual([0, 1]);
    });
  });
});
