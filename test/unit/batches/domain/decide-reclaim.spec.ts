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
  ])('without progress after %i attempts: %p', (attempts, decision) => {
    expect(decideReclaim(aBatch({ attempts, reclaimMark: 0 }), LIMIT)).toEqual(decision);
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
    expect(decideReclaim(aBatch({ attempts: 3, ...batch }), LIMIT)).toEqual(requeue(4));
    expect(decideReclaim(aBatch({ attempts: LIMIT, ...batch }), LIMIT)).toEqual(GIVE_UP);
  });

  it('measures the first reclaim against nothing done', () => {
    expect(decideReclaim(aBatch(), LIMIT)).toEqual(requeue(1));
    expect(decideReclaim(aBatch({ attempts: LIMIT }), LIMIT)).toEqual(GIVE_UP);
    expect(decideReclaim(aBatch({ attempts: LIMIT, ...aState([3]) }), LIMIT)).toEqual(requeue(1));
  });
});
