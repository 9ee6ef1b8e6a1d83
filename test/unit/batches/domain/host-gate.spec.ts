import { describe, expect, it } from '@jest/globals';
import { HOST_PATIENCE_MS, HostGate, sourceHostOf } from '../../../../src/batches/domain/host-gate.js';

const HOST = 'origin.test';
const aGate = (maxPerHost = 32, random = 0) => new HostGate(maxPerHost, () => random);

describe('the host of a source', () => {
  it.each([
    ['https://Origin.TEST/a', 'origin.test'],
    ['http://origin.test:8080/', 'origin.test'],
    ['http://[::1]:80/', '[::1]'],
    ['s3://bucket/key', undefined],
    ['no URL', undefined],
  ])('of %s is %s', (address, host) => {
    expect(sourceHostOf(address)).toBe(host);
  });
});

describe('a host', () => {
  it('is full at its limit, until a task leaves', () => {
    const gate = aGate(1);
    gate.enter(HOST, 0);
    expect([gate.isOpen(HOST, 0), gate.isOpen('other.test', 0), gate.opensAt(HOST, 0)]).toEqual([false, true, undefined]);
    gate.leave(HOST, 1);
    expect([gate.isOpen(HOST, 1), gate.size]).toEqual([true, 0]);
  });

  it('opens after its pause and the jitter of that pause', () => {
    const gate = aGate(32, 0.5);
    gate.pause(HOST, 30_000, 0, 100);
    expect(gate.opensAt(HOST, 100)).toBe(30_600);
    expect([gate.isOpen(HOST, 30_599), gate.isOpen(HOST, 30_600)]).toEqual([false, true]);
  });

  it.each([
    ['shorter', 10_000, 30_000],
    ['longer', 60_000, 60_500],
    ['a little longer', 29_900, 30_400],
  ])('waits for the later end when it asks for a %s pause meanwhile', (_, forMs, opensAt) => {
    const gate = aGate();
    gate.pause(HOST, 30_000, 0, 0);
    gate.pause(HOST, forMs, 0, 500);
    expect(gate.opensAt(HOST, 500)).toBe(opensAt);
  });

  it('tells news to the first task, to one that came after the pause, and to none that was under way', () => {
    const gate = aGate();
    const told = (startedAt: number, now: number) => gate.pause(HOST, 1_000, startedAt, now).isNews;
    gate.enter(HOST, 0);
    expect([told(0, 100), told(0, 100), told(50, 5_000), told(6_000, 6_100)]).toEqual([true, false, false, true]);
  });

  it('is entered in steps after a pause, then freely', () => {
    const gate = aGate();
    gate.pause(HOST, 1_000, 0, 0);
    gate.enter(HOST, 1_000);
    expect([gate.isOpen(HOST, 1_249), gate.isOpen(HOST, 1_250)]).toEqual([false, true]);
    gate.enter(HOST, 6_000);
    expect(gate.isOpen(HOST, 6_000)).toBe(true);
  });

  it('is forgotten once it is idle and its pause is long over, soon if it has served since', () => {
    const served = aGate();
    served.pause(HOST, 1_000, 0, 0);
    served.serves(HOST, 6_000);
    expect(served.size).toBe(0);

    const silent = aGate();
    silent.pause(HOST, 1_000, 0, 0);
    silent.pause('other.test', 1_000, 0, 120_000);
    expect(silent.size).toBe(2);
    silent.pause('other.test', 1_000, 0, 121_000);
    expect(silent.size).toBe(1);
  });

  it('tells how long its pause is still, without the jitter', () => {
    const gate = aGate(32, 0.5);
    gate.pause(HOST, 30_000, 0, 0);
    expect(gate.paused(10_000)).toEqual([{ host: HOST, forMs: 20_000 }]);
    expect(gate.paused(30_000)).toEqual([]);
  });

  it('tells of a hundred pauses at most', () => {
    const gate = aGate();
    for (let host = 0; host < 200; host++) gate.pause(`${host}.test`, 30_000, 0, 0);
    expect(gate.paused(0)).toHaveLength(100);
  });

  it('is given up after a quarter of an hour of refusals, for what was in hand then, until it serves', () => {
    const gate = aGate();
    for (let now = 0; now < HOST_PATIENCE_MS; now += 300_000) gate.pause(HOST, 300_000, now, now);
    expect(gate.hasGivenUp(HOST, 0)).toBe(false);
    gate.pause(HOST, 300_000, HOST_PATIENCE_MS, HOST_PATIENCE_MS);
    expect([gate.hasGivenUp(HOST, 0), gate.hasGivenUp(HOST, HOST_PATIENCE_MS), gate.hasGivenUp('other.test', 0)]).toEqual([
      true,
      false,
      false,
    ]);
    gate.serves(HOST, HOST_PATIENCE_MS + 1);
    expect(gate.hasGivenUp(HOST, 0)).toBe(false);
  });

  it('is not given up for two refusals with a long silence between them', () => {
    const gate = aGate();
    gate.pause(HOST, 300_000, 0, 0);
    gate.pause(HOST, 300_000, HOST_PATIENCE_MS, HOST_PATIENCE_MS);
    expect(gate.hasGivenUp(HOST, 0)).toBe(false);
  });
});

it('a task without a host always passes', () => {
  const gate = aGate(1);
  gate.enter(undefined, 0);
  gate.enter(undefined, 0);
  expect([gate.isOpen(undefined, 0), gate.size]).toEqual([true, 0]);
});
