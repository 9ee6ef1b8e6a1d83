import { describe, expect, it } from '@jest/globals';
import { decideReclaim } from '../../../../src/batches/domain/decide-reclaim.js';
import { aBatch, aState } from '../../../support/builders.js';

const LIMIT = 10;
const GIVE_UP = { kind: 'give-up' };
const requeue = (attempts: number) => ({ kind: 'requeue', attempts });

describe('decideReclaim', () => {
  it.each([
    [0, requeue(1)],
    [8, requeue(9)],
    [9, requeue(10)],
    [10, GIVE_UP],
    [11, GIVE_UP],
  ])('one task without progress after %i attempts: %p', (attempts, decision) => {
    expect(decideReclaim(aBatch({ attempts, reclaimMark: 0, totalTasks: 1 }), LIMIT)).toEqual(decision);
  });

  it('halves what is run first from the second death in a row on, down to one task, which is set apart at the limit', () => {
    let batch = aBatch({ totalTasks: 100, done: new Uint8Array(13) });
    const sizes: (number | undefined)[] = [];
    for (let death = 0; death <= LIMIT; death++) {
      const decision = decideReclaim(batch, LIMIT);
      if (decision.kind === 'give-up') throw new Error('given up');
      if (decision.setApart !== undefined) expect([death, decision]).toEqual([LIMIT, { kind: 'requeue', attempts: 1, setApart: 0 }]);
      batch = { ...batch, ...decision };
      sizes.push(batch.trialSize);
    }
    expect(sizes).toEqual([undefined, 50, 25, 13, 7, 4, 2, 1, 1, 1, 1]);
  });

  it('halves on to one task when there are few attempts, so that nothing is blamed beside others', () => {
    expect(decideReclaim(aBatch({ attempts: 2, reclaimMark: 0, trialSize: 3 }), 2)).toEqual({ kind: 'requeue', attempts: 3, trialSize: 2 });
  });

  it('blames the first task that is not recorded', () => {
    const batch = aBatch({ attempts: LIMIT, trialSize: 1, ...aState([0], [1]), reclaimMark: 2 });
    expect(decideReclaim(batch, LIMIT)).toMatchObject({ setApart: 2 });
  });

  it('keeps the size when tasks were recorded: what killed the holder is still in the rest', () => {
    expect(decideReclaim(aBatch({ attempts: 4, trialSize: 2, ...aState([0]) }), LIMIT)).toEqual(requeue(1));
  });

  it('gives up a batch of which three tasks were set apart', () => {
    const failures = new Map(Array.from({ length: 3 }, (_, position) => [position, 'RECLAIMED_TTL']));
    const batch = aBatch({ totalTasks: 9, done: new Uint8Array(2), attempts: LIMIT, trialSize: 1, failures, failed: 3, reclaimMark: 3 });
    expect(decideReclaim(batch, LIMIT)).toEqual(GIVE_UP);
    failures.set(0, 'HTTP_404');
    expect(decideReclaim(batch, LIMIT)).toMatchObject({ setApart: 3 });
  });

  it.each([
    ['a task succeeded', aState([0, 1, 2])],
    ['a task failed', aState([0, 1], [2])],
  ])('Moved means done or failures: attempts start again at 1 when %s since the last reclaim', (_case, state) => {
    expect(decideReclaim(aBatch({ attempts: 5, reclaimMark: 2, ...state }), LIMIT)).toEqual(requeue(1));
  });

  it.each([LIMIT, LIMIT + 5])('... at the limit too: after %i attempts', (attempts) => {
    expect(decideReclaim(aBatch({ attempts, reclaimMark: 2, ...aState([0, 1, 2]) }), LIMIT)).toEqual(requeue(1));
  });

  it.each([
    ['as many are done as at the last reclaim', { ...aState([0], [1]), reclaimMark: 2 }],
    ['fewer are recorded than at the last reclaim', { ...aState([0]), reclaimMark: 2 }],
    ['only bytes moved', { ...aState([0, 1]), bytes: 999, reclaimMark: 2 }],
    ['only heartbeats came', { ...aState([0, 1]), seq: 99, heartbeatAt: '2026-01-01T01:00:00.000Z', reclaimMark: 2 }],
  ])('Moved means done or failures, and nothing else: %s', (_case, batch) => {
    expect(decideReclaim(aBatch({ attempts: 3, trialSize: 1, ...batch }), LIMIT)).toEqual(requeue(4));
    expect(decideReclaim(aBatch({ attempts: LIMIT, trialSize: 1, ...batch }), LIMIT)).toHaveProperty('setApart');
  });

  it('measures the first reclaim against nothing done', () => {
    expect(decideReclaim(aBatch(), LIMIT)).toEqual(requeue(1));
    expect(decideReclaim(aBatch({ attempts: LIMIT, trialSize: 1 }), LIMIT)).toHaveProperty('setApart', 0);
    expect(decideReclaim(aBatch({ attempts: LIMIT, ...aState([3]) }), LIMIT)).toEqual(requeue(1));
  });
});
