import { describe, expect, it } from '@jest/globals';
import { heldBatchOf } from '../../../../src/batches/domain/held-batch.js';
import { aBatch, aState } from '../../../support/builders.js';

const NOW_MS = Date.parse('2026-01-01T12:00:00.000Z');
const TTL_MS = 90_000;
const ago = (seconds: number): string => new Date(NOW_MS - seconds * 1_000).toISOString();

describe('heldBatchOf', () => {
  it('tells type, holder, and the ages of lock, heartbeat and progress', () => {
    const at = { lockedAt: ago(900), heartbeatAt: ago(9), progressedAt: ago(30) };
    const batch = aBatch({ status: 'running', lockToken: 3, attempts: 1, lockedBy: 'holder', ...at, ...aState([0, 2], [1]) });
    expect(heldBatchOf(batch, NOW_MS, TTL_MS)).toEqual({
      jobId: 'job-1',
      batchNo: 0,
      type: 'download',
      run: 1,
      heldBy: 'holder',
      lockToken: 3,
      attempts: 1,
      totalTasks: 5,
      completed: 2,
      failed: 1,
      lockAgeS: 900,
      heartbeatAgeS: 9,
      progressAgeS: 30,
      silentS: 9,
      ttlS: 90,
      share: 0.1,
      state: 'healthy',
    });
  });

  it.each([
    [0, 'healthy'],
    [45, 'healthy'],
    [46, 'late'],
    [90, 'late'],
    [91, 'stale'],
    [-100, 'healthy'],
  ])('after %i s of a TTL of 90 s it is %s', (silentS, state) => {
    const batch = aBatch({ status: 'running', lockedAt: ago(900), heartbeatAt: ago(silentS) });
    expect(heldBatchOf(batch, NOW_MS, TTL_MS).state).toBe(state);
  });

  it('leaves out what the row does not say', () => {
    const held = heldBatchOf(aBatch({ status: 'running', lockedAt: ago(60) }), NOW_MS, TTL_MS);
    expect(held).toMatchObject({ lockAgeS: 60, silentS: 60, state: 'late' });
    expect(Object.keys(held)).not.toEqual(expect.arrayContaining(['heldBy']));
    expect(held).not.toHaveProperty('heartbeatAgeS');
    expect(held).not.toHaveProperty('progressAgeS');
  });
});
