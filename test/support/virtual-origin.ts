import type { FakeClock } from './fake-clock.js';
import type { FakeTransferPool } from './fakes/fake-transfer-pool.js';

/** How an origin limits its requests: a bucket that refills, a count per fixed second, or a count over the last second. */
export type LimitKind = 'bucket' | 'fixed second' | 'last second';

/** Whether the request of this moment is within the origin's limit. */
function limiter(origin: VirtualOrigin): (nowMs: number) => boolean {
  let [tokens, filledAt] = [origin.perSecond, 0];
  let served: number[] = [];
  return (nowMs) => {
    const { kind, perSecond } = origin;
    if (kind === 'bucket') {
      tokens = Math.min(perSecond, tokens + ((nowMs - filledAt) * perSecond) / 1_000);
      filledAt = nowMs;
      if (tokens < 1) return false;
      tokens--;
      return true;
    }
    const from = kind === 'fixed second' ? Math.floor(nowMs / 1_000) * 1_000 : nowMs - 1_000;
    served = served.filter((at) => at >= from);
    if (served.length >= perSecond) return false;
    served.push(nowMs);
    return true;
  };
}

export interface VirtualOrigin {
  kind: LimitKind;
  /** Read at each request: a test may change it. */
  perSecond: number;
  latencyMs: number;
  /** What it says to those over the limit. */
  refusal: Parameters<FakeTransferPool['fail']>[0];
}

/** Answers what the pool runs as such an origin would, in virtual time, until `isOver`. @returns milliseconds that took, and refusals */
export async function serve(
  { clock, pool }: { clock: FakeClock; pool: FakeTransferPool },
  origin: VirtualOrigin,
  isOver: () => boolean,
): Promise<{ tookMs: number; refusals: number }> {
  const allows = limiter(origin);
  const since = clock.monotonicMs();
  let refusals = 0;
  let seen = 0;
  const answers: { atMs: number; key: string; isServed: boolean }[] = [];
  while (!isOver()) {
    const nowMs = clock.monotonicMs();
    if (nowMs - since > 600_000) throw new Error(`not over after ten minutes: ${answers.length} in flight, ${refusals} refusals`);
    for (; seen < pool.started.length; seen++)
      answers.push({ atMs: nowMs + origin.latencyMs, key: pool.started[seen]?.s3Key ?? '', isServed: allows(nowMs) });
    const due = answers[0];
    const waitMs = Math.min((due?.atMs ?? Infinity) - nowMs, clock.nextWakeInMs ?? Infinity);
    if (waitMs !== Infinity) await clock.advance(Math.max(0, waitMs));
    if (due === undefined || due.atMs > clock.monotonicMs()) continue;
    answers.shift();
    if (due.isServed) await pool.succeed(due.key);
    else {
      refusals++;
      await pool.fail(origin.refusal, due.key);
    }
  }
  return { tookMs: clock.monotonicMs() - since, refusals };
}
