import { describe, expect, it } from '@jest/globals';
import { aDispatcher, FakeTaskSource as Source } from '../../../support/dispatcher.js';
import { onEachClock } from '../../../support/each-clock.js';
import { serve, type LimitKind } from '../../../support/virtual-origin.js';

const AFTER_A_SECOND = { code: 'HTTP_429', httpStatus: 429, retryable: true, retryAfterMs: 1_000, retryAfterHost: 'origin.test' };
const WITHOUT_A_TIME = { code: 'HTTP_429', httpStatus: 429, retryable: true, retryAfterHost: 'origin.test' };
const BUSY = { code: 'HTTP_503', httpStatus: 503, retryable: true, retryAfterHost: 'origin.test' };

const ORIGINS = [20, 100].flatMap((perSecond) =>
  (['bucket', 'fixed second', 'last second'] satisfies LimitKind[]).flatMap((kind) =>
    [
      { says: '429 with Retry-After: 1', refusal: AFTER_A_SECOND },
      { says: '429 without a time', refusal: WITHOUT_A_TIME },
      { says: '503 without a time', refusal: BUSY },
    ].flatMap((answer) => [30, 300].map((latencyMs) => ({ perSecond, kind, latencyMs, ...answer }))),
  ),
);

onEachClock('an origin that limits its requests', (newClock) => {
  it.each(ORIGINS)('gives at least 80 % of $perSecond/s ($kind, answers after $latencyMs ms, $says), and no file fails', async (origin) => {
    const { clock, pool, dispatcher, add } = aDispatcher(32, 32, newClock());
    const files = origin.perSecond * 20;
    const source = add(new Source('a', files));
    const { tookMs } = await serve({ clock, pool }, origin, () => source.results.length === files);
    expect(source.results.filter(({ result }) => !result.success)).toEqual([]);
    expect(files / (tookMs / 1_000) / origin.perSecond).toBeGreaterThan(0.8);
    expect([dispatcher.runningTasks, clock.sleepers]).toEqual([0, 0]);
  });
});

describe('a limit that is raised', () => {
  it('is found out in time', async () => {
    const { clock, pool, add } = aDispatcher(32, 32);
    const source = add(new Source('a', 5_000));
    const origin = { kind: 'bucket', perSecond: 20, latencyMs: 30, refusal: AFTER_A_SECOND } as const;
    const raised = { ...origin, perSecond: 20 };
    let raisedAt = Infinity;
    await serve({ clock, pool }, raised, () => {
      if (source.results.length === 200) [raised.perSecond, raisedAt] = [10_000, clock.monotonicMs()];
      return source.results.length === 5_000;
    });
    expect(4_800 / ((clock.monotonicMs() - raisedAt) / 1_000)).toBeGreaterThan(100);
  });
});
