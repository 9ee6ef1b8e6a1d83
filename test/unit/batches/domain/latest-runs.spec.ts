import { describe, expect, it } from '@jest/globals';
import { DestinationTrust } from '../../../../src/batches/domain/destination-trust.js';
import { LatestRuns } from '../../../../src/batches/domain/latest-runs.js';

describe('a bucket in doubt', () => {
  it('is remembered for the run of its job while no batch of it is in hand', () => {
    const trusts = new LatestRuns<DestinationTrust>();
    const of = (jobId: string, run: number, hasStored = false) => trusts.of({ jobId, run }, () => new DestinationTrust(hasStored));
    of('a', 1).refused(100, 200);
    expect([of('a', 1, true).isInDoubt, of('a', 2).isInDoubt]).toEqual([true, false]);
    for (let other = 0; other < 1_000; other++) of(`${other}`, 1);
    expect(of('a', 1).isInDoubt).toBe(false);
  });
});
