import { describe, expect, it } from '@jest/globals';
import { isLongSilent, isOverdue, isStale, leaseSignature, storedSilenceMs, watchMs } from '../../../../src/batches/domain/stale-batch.js';
import type { BatchEntity } from '../../../../src/batches/domain/batch.entity.js';
import { aBatch } from '../../../support/builders.js';

const NOW_MS = Date.parse('2026-01-01T12:00:00.000Z');
const LIMITS = { ttlMs: 90_000, heartbeatIntervalMs: 10_000 };
const HOUR_S = 3_600;

/** The instant that was so many seconds ago by this host's clock; negative: by a holder's clock that is ahead. */
const ago = (seconds: number): string => new Date(NOW_MS - seconds * 1_000).toISOString();
const aHeld = (lockedAgoS: number, over: Partial<BatchEntity> = {}) =>
  aBatch({ status: 'running', lockToken: 1, lockedBy: 'holder', lockedAt: ago(lockedAgoS), ...over });

describe('isStale', () => {
  describe('whatever the skew between the two hosts', () => {
    // `heartbeat` as this host reads it: what really passed since, plus the skew.
    it.each<[skew: string, unchangedS: number, heartbeatAgoS: number, stale: boolean]>([
      ['hosts agree', 0, 0, false],
      ['hosts agree', 39, 95, false],
      ['hosts agree', 40, 95, true],
      ['hosts agree', 89, 90, false],
      ['hosts agree', 90, 90, false],
      ['hosts agree', 91, 91, true],
      ['holder 200 s behind, beating', 0, 200, false],
      ['holder 200 s behind, a beat late', 20, 220, false],
      ['holder 200 s behind, three beats late', 39, 239, false],
      ['holder 200 s behind, silent', 41, 241, true],
      ['holder 200 s ahead, beating', 10, -190, false],
      ['holder 200 s ahead, silent', 90, -110, false],
      ['holder 200 s ahead, silent', 91, -109, true],
      ['holder hours behind, beating', 10, 3 * HOUR_S, false],
      ['holder hours behind, silent', 40, 3 * HOUR_S, true],
      ['holder hours ahead, beating', 10, -3 * HOUR_S, false],
      ['holder hours ahead, silent', 91, -3 * HOUR_S, true],
    ])('%s: seen unchanged for %i s, heartbeat %i s old by the stored times: %p', (_skew, unchangedS, heartbeatAgoS, stale) => {
      const batch = aHeld(heartbeatAgoS + HOUR_S, { heartbeatAt: ago(heartbeatAgoS) });
      expect(isStale(batch, unchangedS * 1_000, NOW_MS, LIMITS)).toBe(stale);
    });
  });

  it('stored times alone never condemn, however old they are', () => {
    expect(isStale(aHeld(99 * HOUR_S, { heartbeatAt: ago(99 * HOUR_S) }), 0, NOW_MS, LIMITS)).toBe(false);
  });

  it.each([
    ['the claim is old, the heartbeat is not', 900, 80, false],
    ['the heartbeat is old, the claim is not: a clock was set back between them', 80, 900, false],
    ['both are old', 900, 91, true],
  ])('by the stored times only if %s', (_case, lockedAgoS, heartbeatAgoS, stale) => {
    expect(isStale(aHeld(lockedAgoS, { heartbeatAt: ago(heartbeatAgoS) }), 50_000, NOW_MS, LIMITS)).toBe(stale);
  });

  it.each([
    [89, 50, false],
    [90, 50, false],
    [91, 50, true],
    [91, 39, false],
    [10, 91, true],
  ])('without a heartbeat the claim %i s ago speaks for it, seen unchanged for %i s: %p', (lockedAgoS, unchangedS, stale) => {
    expect(isStale(aHeld(lockedAgoS), unchangedS * 1_000, NOW_MS, LIMITS)).toBe(stale);
  });

  it('of a row without stored times only its own clock tells', () => {
    const batch = aBatch({ status: 'running' });
    expect(isStale(batch, 90_000, NOW_MS, LIMITS)).toBe(false);
    expect(isStale(batch, 90_001, NOW_MS, LIMITS)).toBe(true);
  });

  it('goes by the TTL and the interval that it is given', () => {
    const batch = aHeld(400, { heartbeatAt: ago(301) });
    expect(isStale(batch, 100_000, NOW_MS, { ttlMs: 300_000, heartbeatIntervalMs: 30_000 })).toBe(false);
    expect(isStale(batch, 120_000, NOW_MS, { ttlMs: 300_000, heartbeatIntervalMs: 30_000 })).toBe(true);
    expect(isStale(batch, 120_000, NOW_MS, { ttlMs: 302_000, heartbeatIntervalMs: 30_000 })).toBe(false);
  });
});

describe('leaseSignature', () => {
  const batch = aHeld(100, { heartbeatAt: ago(50) });

  it.each<[string, Partial<BatchEntity>]>([
    ['a heartbeat', { heartbeatAt: ago(40) }],
    ['another holder', { lockToken: 2 }],
    ['another run', { run: 2 }],
  ])('changes with %s', (_case, change) => {
    expect(leaseSignature({ ...batch, ...change })).not.toBe(leaseSignature(batch));
  });

  it('changes with the first heartbeat of all', () => {
    expect(leaseSignature(aHeld(100))).not.toBe(leaseSignature(batch));
  });

  it('stays while nobody gives a sign of life', () => {
    expect(leaseSignature({ ...batch, attempts: 4, reclaimMark: 3 })).toBe(leaseSignature(batch));
  });
});

describe('storedSilenceMs', () => {
  it.each<[string, BatchEntity, number]>([
    ['since the last heartbeat', aHeld(100, { heartbeatAt: ago(50) }), 50],
    ['since the claim when there was none', aHeld(100), 100],
    ['since the claim when the clock was set back between the two', aHeld(100, { heartbeatAt: ago(900) }), 100],
    ['since it was queued when nothing else is known', aBatch({ enqueuedAt: ago(150) }), 150],
    ['not below zero when the holder’s clock is ahead', aHeld(-100), 0],
  ])('counts %s', (_case, batch, seconds) => {
    expect(storedSilenceMs(batch, NOW_MS)).toBe(seconds * 1_000);
  });
});

describe('isOverdue', () => {
  it.each([
    ['a minute beyond its TTL by the stored times, and watched', 151, 40, true],
    ['not yet a minute beyond its TTL', 150, 40, false],
    ['silent by the stored times only: its holder’s clock may be slow', 600, 39, false],
    ['seen unchanged for more than its TTL and a minute, whatever its holder’s clock shows', -600, 151, true],
    ['seen unchanged for its TTL and a minute', -600, 150, false],
  ])('%s', (_case, silentS, unchangedS, overdue) => {
    expect(isOverdue(aHeld(900, { heartbeatAt: ago(silentS) }), unchangedS * 1_000, NOW_MS, LIMITS)).toBe(overdue);
  });
});

it.each([
  [150, false],
  [151, true],
])('isLongSilent: of a batch silent for %i s of a TTL of 90 s by the stored times: %p', (silentS, long) => {
  expect(isLongSilent(aHeld(900, { heartbeatAt: ago(silentS) }), NOW_MS, LIMITS.ttlMs)).toBe(long);
});

it('watchMs: four heartbeat intervals, after which stored times may speak', () => {
  const old = aHeld(900, { heartbeatAt: ago(900) });
  expect(isStale(old, watchMs(LIMITS.heartbeatIntervalMs), NOW_MS, LIMITS)).toBe(true);
  expect(isStale(old, watchMs(LIMITS.heartbeatIntervalMs) - 1, NOW_MS, LIMITS)).toBe(false);
});
