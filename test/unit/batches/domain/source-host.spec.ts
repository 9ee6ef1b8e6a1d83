import { describe, expect, it } from '@jest/globals';
import { HOST_PATIENCE_MS, SILENCE_PATIENCE_MS, SourceHost } from '../../../../src/batches/domain/source-host.js';

const aHost = (maxAtOnce = 32, random = 0) => new SourceHost(maxAtOnce, () => random);
const ASKED = (forMs: number) => ({ forMs, isExplicit: true });
const TOO_MANY = { isExplicit: true };
const BUSY = { isExplicit: false };

describe('a host', () => {
  it('is full at its limit, until a task leaves', () => {
    const host = aHost(1);
    host.enter(0);
    expect(host.isOpen(0)).toBe(false);
    host.leave(false);
    expect(host.isOpen(1)).toBe(true);
  });

  it('opens after the pause that it asked for and a jitter of at most a tenth', () => {
    const host = aHost(32, 0.5);
    host.refused(ASKED(4_000), 0, 100);
    expect(host.opensAt).toBe(4_300);
    expect([host.isOpen(4_299), host.isOpen(4_300)]).toEqual([false, true]);
  });

  it.each([
    ['shorter', 10_000, 30_000],
    ['longer', 60_000, 60_500],
  ])('waits for the later end when it asks for a %s pause meanwhile', (_, forMs, opensAt) => {
    const host = aHost();
    host.refused(ASKED(30_000), 0, 0);
    host.refused(ASKED(forMs), 0, 500);
    expect(host.opensAt).toBe(opensAt);
  });

  it('is left alone twice as long each time it refuses without a time and serves nothing in between, up to half a minute', () => {
    const host = aHost();
    const waits = Array.from({ length: 8 }, (_, index) => {
      const now = (index + 1) * 100_000;
      host.enter(now - 1);
      host.refused(TOO_MANY, now - 1, now);
      host.leave(false);
      return host.pauseLeftMs(now);
    });
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    host.served(900_000, 900_000);
    host.refused(TOO_MANY, 900_001, 900_002);
    expect(host.pauseLeftMs(900_002)).toBe(500);
  });

  it('is not believed when it asks for a moment again and again and never serves', () => {
    const host = aHost();
    for (const now of [10, 20_000, 40_000]) host.refused(ASKED(0), now - 1, now);
    expect(host.opensAt - 40_000).toBe(2_000);
  });

  it('gets as many tasks at once as it went on serving while it refused more, and one more after a round that it serves', () => {
    const host = aHost();
    for (let task = 0; task < 10; task++) host.enter(0);
    for (let task = 0; task < 4; task++) host.flows();
    for (let task = 0; task < 6; task++) {
      host.refused(TOO_MANY, 0, 5_000);
      host.leave(false);
    }
    host.enter(600_000);
    expect(host.isOpen(650_000)).toBe(false);
    for (let task = 0; task < 5; task++) {
      host.served(0, 60_000);
      host.leave(task < 4);
      host.enter(660_000 + task * 10_000);
    }
    host.served(0, 700_000);
    expect([host.isOpen(720_000), host.running]).toEqual([true, 5]);
    host.enter(720_000);
    expect(host.isOpen(800_000)).toBe(false);
  });
});

describe('a bare 503', () => {
  it('is the fault of its file while the host serves others', () => {
    const host = aHost();
    const verdicts = Array.from({ length: 20 }, (_, index) => {
      for (let served = 0; served < 19; served++) host.served(index, index);
      return host.refused(BUSY, index, index);
    });
    expect(new Set(verdicts)).toEqual(new Set(['file']));
    expect(host.isOpen(100)).toBe(true);
  });

  it('is a wish for patience when a good part of the answers are such', () => {
    const host = aHost();
    const verdicts = Array.from({ length: 4 }, () => host.refused(BUSY, 0, 10));
    expect(verdicts).toEqual(['file', 'file', 'host', 'host']);
    expect(host.isOpen(11)).toBe(false);
  });

  it('is the fault of a file that gets it again although others were served meanwhile', () => {
    const host = aHost();
    host.refused(TOO_MANY, 0, 10);
    host.served(600, 700);
    expect([host.refused(BUSY, 800, 900, 10), host.refused(BUSY, 800, 900)]).toEqual(['file', 'host']);
  });
});

describe('a host that only refuses', () => {
  it('is given up after a quarter of an hour, for what was in hand then, until it serves', () => {
    const host = aHost();
    for (let now = 0; now < HOST_PATIENCE_MS; now += 300_000) host.refused(ASKED(300_000), now, now);
    expect(host.givenUpSince(0)).toBeUndefined();
    host.refused(ASKED(300_000), HOST_PATIENCE_MS, HOST_PATIENCE_MS);
    expect([host.givenUpSince(0), host.givenUpSince(HOST_PATIENCE_MS)]).toEqual(['refuses', undefined]);
    host.serves(HOST_PATIENCE_MS + 1);
    expect(host.givenUpSince(0)).toBeUndefined();
  });

  it('is not given up for two refusals with a long silence between them', () => {
    const host = aHost();
    host.refused(ASKED(300_000), 0, 0);
    host.refused(ASKED(300_000), HOST_PATIENCE_MS, HOST_PATIENCE_MS);
    expect(host.givenUpSince(0)).toBeUndefined();
  });
});

describe('a host that answers nobody', () => {
  const afterSilentTries = (tries: number) => {
    const host = aHost();
    for (let index = 0; index < tries; index++) host.keptSilent(0, 60_000 + index);
    return host;
  };

  it('gets a few connections, one every 15 s, after four tries in a row', () => {
    const host = afterSilentTries(3);
    expect(host.isSilent).toBe(false);
    host.keptSilent(1, 60_010);
    host.enter(60_020);
    expect([host.isSilent, host.opensAt, host.isOpen(75_019), host.isOpen(75_020)]).toEqual([true, 75_020, false, true]);
    for (const now of [75_020, 90_020, 105_020]) host.enter(now);
    expect(host.isOpen(130_000)).toBe(false);
  });

  it('is asked as ever once it has answered anything', () => {
    const host = afterSilentTries(4);
    host.answered(70_000);
    expect([host.isSilent, host.isOpen(70_000)]).toEqual([false, true]);
  });

  it('is not taken for silent because of tries that began before its last answer', () => {
    const host = aHost();
    host.answered(30_000);
    for (let index = 0; index < 10; index++) host.keptSilent(29_000, 90_000);
    expect(host.isSilent).toBe(false);
  });

  it('is given up after five minutes of silence, for what was in hand then, until it answers', () => {
    const host = afterSilentTries(4);
    host.keptSilent(SILENCE_PATIENCE_MS - 60_000, SILENCE_PATIENCE_MS - 1);
    expect(host.givenUpSince(0)).toBeUndefined();
    host.keptSilent(SILENCE_PATIENCE_MS - 60_000, SILENCE_PATIENCE_MS);
    expect([host.givenUpSince(0), host.givenUpSince(SILENCE_PATIENCE_MS)]).toEqual(['silent', undefined]);
    host.answered(SILENCE_PATIENCE_MS + 1);
    expect(host.givenUpSince(0)).toBeUndefined();
  });
});

describe('a host is forgotten', () => {
  it('some seconds after its last answer, when nothing runs', () => {
    const host = aHost();
    host.enter(0);
    host.served(0, 10);
    expect(host.isForgettable(20_000)).toBe(false);
    host.leave(false);
    expect([host.isForgettable(10_009), host.isForgettable(10_010)]).toEqual([false, true]);
  });

  it('when its pause and its pace are long over', () => {
    const host = aHost();
    host.refused(ASKED(1_000), 0, 0);
    expect([host.isForgettable(60_000), host.isForgettable(121_000)]).toEqual([false, true]);
  });
});
