import { describe, expect, it } from '@jest/globals';
import { patienceWish } from '../../../src/worker-pool/domain/patience-wish.js';
import type { PatienceWish } from '../../../src/worker-pool/domain/transfer-task.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');

function wish(status: number, headers: Record<string, string>): PatienceWish {
  return patienceWish(status, 'a.test', (name) => headers[name], NOW);
}
/** A wish of the whole host. */
const host = (retryAfterMs?: number): PatienceWish => ({ retryAfterHost: 'a.test', ...(retryAfterMs !== undefined && { retryAfterMs }) });

describe('Retry-After', () => {
  it.each([
    { value: '7', ms: 7_000 },
    { value: ' 0 ', ms: 0 },
    { value: '1.5', ms: 1_500 },
    { value: '86400', ms: 300_000 },
    { value: 'Thu, 01 Jan 2026 00:00:30 GMT', ms: 30_000 },
    { value: 'Thu, 01 Jan 2025 00:00:00 GMT', ms: 0 },
    { value: 'soon', ms: undefined },
    { value: 'soon 1', ms: undefined },
    { value: '-5', ms: undefined },
    { value: '25:61:00 o’clock', ms: undefined },
    { value: '', ms: undefined },
  ])('$value is $ms ms', ({ value, ms }) => {
    expect(wish(429, { 'retry-after': value })).toEqual(host(ms));
  });

  it.each([403, 404, 408, 425, 429, 500, 502, 503, 504])('counts with %i, for the whole host', (status) => {
    expect(wish(status, { 'retry-after': '7' })).toEqual(host(7_000));
  });

  it('counts with 202 for its file alone', () => {
    expect(wish(202, { 'retry-after': '7' })).toEqual({ retryAfterMs: 7_000 });
  });
});

describe('an answer without a time', () => {
  it.each([429, 503])('of %i is a wish for patience of its host all the same', (status) => {
    expect(wish(status, {})).toEqual(host());
    expect(wish(status, { 'retry-after': 'garbage', ratelimit: 'garbage', 'x-ratelimit-reset': 'garbage' })).toEqual(host());
  });

  it.each([202, 403, 404, 500])('of %i asks for nothing', (status) => {
    expect(wish(status, { 'x-ratelimit-reset': '7', 'x-ratelimit-remaining': '1', ratelimit: '"default";r=1;t=7' })).toEqual({});
  });
});

describe('the headers of a rate limit', () => {
  it.each([
    { name: 'ratelimit', value: '"default";r=0;t=30', ms: 30_000 },
    { name: 'ratelimit', value: '"burst";r=4;t=1, "daily;t=9";r=0;t=60, "x";r=0;t=40', ms: 60_000 },
    { name: 'ratelimit', value: 'default;t=5', ms: 5_000 },
    { name: 'ratelimit', value: 'limit=100, remaining=0, reset=12', ms: 12_000 },
    { name: 'ratelimit-reset', value: '9', ms: 9_000 },
    { name: 'x-ratelimit-reset', value: '9', ms: 9_000 },
    { name: 'x-rate-limit-reset', value: String(NOW / 1_000 + 11), ms: 11_000 },
    { name: 'x-ratelimit-reset', value: String(NOW + 12_500), ms: 12_500 },
    { name: 'x-ratelimit-reset', value: String(NOW / 1_000 - 11), ms: 0 },
    { name: 'x-ratelimit-reset', value: '86400', ms: 300_000 },
  ])('say with 429 and 503 for how long: $name: $value', ({ name, value, ms }) => {
    expect(wish(429, { [name]: value })).toEqual(host(ms));
    expect(wish(503, { [name]: value })).toEqual(host(ms));
  });

  it.each([
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' },
    { 'ratelimit-remaining': '0', 'ratelimit-reset': '20' },
    { ratelimit: '"default";r=0;t=20' },
  ])('make a wait of a 403 whose limit is used up: %j', (headers: Record<string, string>) => {
    expect(wish(403, headers)).toEqual(host(20_000));
  });

  it('stand behind Retry-After, and the standard’s own before the older ones', () => {
    const headers = {
      'retry-after': '1',
      ratelimit: 'a;r=0;t=2',
      'ratelimit-reset': '3',
      'x-ratelimit-reset': '4',
      'x-rate-limit-reset': '5',
    };
    const names = Object.keys(headers);
    const seen = names.map((_, from) => wish(429, Object.fromEntries(Object.entries(headers).slice(from))).retryAfterMs);
    expect(seen).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
  });
});
