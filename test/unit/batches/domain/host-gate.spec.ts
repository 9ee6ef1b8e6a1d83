import { describe, expect, it } from '@jest/globals';
import { HostGate, sourceHostOf } from '../../../../src/batches/domain/host-gate.js';

const HOST = 'origin.test';
const ASKED = { forMs: 30_000, isExplicit: true };
const aGate = (maxPerHost = 32, random = 0) => new HostGate(maxPerHost, () => random);

describe('the host of a source', () => {
  it.each([
    ['https://Origin.TEST/a', 'origin.test'],
    ['https://origin.test:443/', 'origin.test'],
    ['http://origin.test/', 'origin.test:80'],
    ['http://origin.test:8080/', 'origin.test:8080'],
    ['http://[::1]:80/', '[::1]:80'],
    ['s3://bucket/key', undefined],
    ['no URL', undefined],
  ])('of %s is %s', (address, host) => {
    expect(sourceHostOf(address)).toBe(host);
  });
});

describe('the gate of hosts', () => {
  it('closes one host and leaves the others open', () => {
    const gate = aGate(1);
    gate.enter(HOST, 0);
    expect([gate.isOpen(HOST, 0), gate.isOpen('other.test', 0), gate.opensAt(HOST, 0)]).toEqual([false, true, undefined]);
    gate.leave(HOST, false);
    expect(gate.isOpen(HOST, 1)).toBe(true);
  });

  it('tells how long a pause is still, without the jitter', () => {
    const gate = aGate(32, 0.5);
    gate.refused(HOST, ASKED, 0, 0);
    expect(gate.paused(10_000)).toEqual([{ host: HOST, forMs: 20_000 }]);
    expect(gate.paused(30_000)).toEqual([]);
  });

  it('tells of a hundred pauses at most', () => {
    const gate = aGate();
    for (let host = 0; host < 200; host++) gate.refused(`${host}.test`, ASKED, 0, 0);
    expect(gate.paused(0)).toHaveLength(100);
  });

  it('forgets hosts that nobody came back to', () => {
    const gate = aGate();
    for (let host = 0; host < 200; host++) {
      gate.enter(`${host}.test`, 0);
      gate.leave(`${host}.test`, false);
    }
    expect(gate.size).toBe(200);
    gate.enter(HOST, 20_000);
    expect(gate.size).toBe(1);
  });

  it('lets a task without a host always pass', () => {
    const gate = aGate(1);
    gate.enter(undefined, 0);
    gate.enter(undefined, 0);
    expect([gate.isOpen(undefined, 0), gate.size]).toEqual([true, 0]);
  });
});
