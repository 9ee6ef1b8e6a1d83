import { describe, expect, it } from '@jest/globals';
import { DestinationTrust } from '../../../../src/batches/domain/destination-trust.js';

/** Refuses one file after another, each as soon as it may start. @returns how many it took until the bucket counts as refusing, and how long */
function refuseUntilSaid(trust: DestinationTrust): { files: number; afterMs: number } {
  let now = 1_000;
  let files = 0;
  while (!trust.isRefusing && files < 1_000) {
    const startedAt = Math.max(now + 1, trust.opensAt);
    now = startedAt + 10;
    trust.refused(startedAt, now);
    files++;
  }
  return { files, afterMs: now - 1_000 };
}

describe('a bucket that has taken no file of the job', () => {
  it('is said to refuse it after five files, which take 15 s, because a new policy or role is not known everywhere at once', () => {
    expect(refuseUntilSaid(new DestinationTrust())).toEqual({ files: 5, afterMs: 15_051 });
  });

  it('is in doubt from the first refusal on, which alone is news, and pauses after it', () => {
    const trust = new DestinationTrust();
    expect([trust.isInDoubt, trust.opensAt]).toEqual([false, -Infinity]);
    expect(trust.refused(100, 200)).toBe(true);
    expect([trust.isInDoubt, trust.opensAt]).toEqual([true, 1_200]);
    expect(trust.refused(1_200, 1_300)).toBe(false);
    expect(trust.opensAt).toBe(3_300);
  });

  it('tells of one moment by all files that were under way together', () => {
    const trust = new DestinationTrust();
    for (let file = 0; file < 40; file++) trust.refused(100, 200 + file);
    expect([trust.isRefusing, trust.opensAt]).toEqual([false, 1_200]);
  });
});

describe('a bucket in doubt', () => {
  it('is tried every 8 s with another file while the one that was tried takes long to come', () => {
    const trust = new DestinationTrust();
    trust.refused(100, 200);
    trust.tries(1_200);
    expect(trust.opensAt).toBe(9_200);
    trust.tries(9_200);
    expect(trust.opensAt).toBe(17_200);
    trust.refused(9_200, 9_300);
    expect(trust.opensAt).toBe(11_300);
  });

  it('is unproven until it takes a file, or is said to refuse', () => {
    const [refusing, taking] = [new DestinationTrust(), new DestinationTrust()];
    expect(refusing.isUnproven).toBe(true);
    refuseUntilSaid(refusing);
    taking.took();
    expect([refusing.isUnproven, taking.isUnproven]).toEqual([false, false]);
  });
});

describe('a bucket that has taken a file of the job', () => {
  it('is said to refuse it after fifty files: its policy may deny one prefix, whose files lie side by side', () => {
    const took = new DestinationTrust();
    took.took();
    for (const trust of [took, new DestinationTrust(true)]) {
      const { files, afterMs } = refuseUntilSaid(trust);
      expect(files).toBe(50);
      expect(afterMs).toBeGreaterThan(60_000);
    }
  });

  it('costs the other files no pause while it refuses five at most', () => {
    const trust = new DestinationTrust(true);
    for (let file = 0; file < 5; file++) trust.refused(10 * file, 10 * file + 1);
    expect(trust.isInDoubt).toBe(false);
    trust.refused(60, 61);
    expect([trust.isInDoubt, trust.opensAt > 1_000]).toEqual([true, true]);
  });

  it('is trusted again with the next file that it takes', () => {
    const trust = new DestinationTrust();
    expect(trust.refused(100, 200)).toBe(true);
    trust.took();
    expect(trust.isInDoubt).toBe(false);
    expect(trust.opensAt).toBeLessThan(201);
    // Told once: a policy that denies one file in ten would fill the log.
    expect(trust.refused(300, 400)).toBe(false);
  });
});
