import { describe, expect, it } from '@jest/globals';
import { LeastSpeed } from '../../../src/worker-pool/domain/least-speed.js';

/** Milliseconds of reading until the source is found too slow, within ten minutes. */
function endedAfterMs(speed: LeastSpeed, waitedMs: number, bytes: number): number | undefined {
  for (let readMs = waitedMs; readMs <= 600_000; readMs += waitedMs) {
    try {
      speed.note(waitedMs, bytes);
    } catch (error) {
      expect(error).toMatchObject({ code: 'SOURCE_TOO_SLOW', disposition: 'retry' });
      return readMs;
    }
  }
  return undefined;
}

describe('the least speed of a source', () => {
  it.each([
    { what: 'one byte in 10 s', waitedMs: 10_000, bytes: 1, endsMs: 60_000 },
    { what: 'one byte in 59 s', waitedMs: 59_000, bytes: 1, endsMs: 118_000 },
    { what: '99 bytes a second', waitedMs: 1_000, bytes: 99, endsMs: 60_000 },
    { what: '100 bytes a second', waitedMs: 1_000, bytes: 100, endsMs: undefined },
    { what: '5,900 bytes in 59 s', waitedMs: 59_000, bytes: 5_900, endsMs: undefined },
    { what: '64 KiB in 50 s', waitedMs: 50_000, bytes: 65_536, endsMs: undefined },
    { what: '64 KiB at once', waitedMs: 0.01, bytes: 65_536, endsMs: undefined },
  ])('is judged after a minute of reading: $what', ({ waitedMs, bytes, endsMs }) => {
    expect(endedAfterMs(new LeastSpeed(100), Math.max(waitedMs, 1), bytes)).toBe(endsMs);
  });

  it('is that of the last minute, whatever came before', () => {
    const speed = new LeastSpeed(100);
    for (let second = 0; second < 120; second++) speed.note(1_000, 1_000_000);
    const endsMs = endedAfterMs(speed, 10_000, 1);
    expect(endsMs).toBe(60_000);
  });

  it('is forgiven for a pause within the minute', () => {
    const speed = new LeastSpeed(100);
    for (let time = 0; time < 20; time++) {
      for (let second = 0; second < 30; second++) speed.note(1_000, 300);
      speed.note(30_000, 1);
    }
  });

  it('says how slow the source is, and which setting it fell under', () => {
    const speed = new LeastSpeed(100);
    const drip = () => {
      for (let time = 0; time < 6; time++) speed.note(10_000, 1);
    };
    expect(drip).toThrow('the source sends too slowly: 6 bytes in 60 s of reading, fewer than 100 a second (MIN_BYTES_PER_SECOND)');
  });
});
