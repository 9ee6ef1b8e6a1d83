import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { MockAgent } from 'undici';
import { HttpSource } from '../../../src/worker-pool/threads/http-source.js';
import { SourceGuard } from '../../../src/worker-pool/threads/source-guard.js';

let agent: MockAgent;
/** Origin and `authorization` of each request. */
let asked: [string, string | undefined][];

beforeEach(() => {
  agent = new MockAgent();
  agent.disableNetConnect();
  asked = [];
});

afterEach(() => agent.close());

/** Each origin redirects to the next; the last has the file. */
async function follow(...origins: string[]): Promise<void> {
  for (const [hop, origin] of origins.entries()) {
    const next = origins[hop + 1];
    agent
      .get(origin)
      .intercept({ path: '/f', method: 'GET' })
      .reply(({ headers }) => {
        asked.push([origin, (headers as Record<string, string>)['authorization']]);
        return next === undefined
          ? { statusCode: 200, data: 'x' }
          : { statusCode: 301, responseOptions: { headers: { location: `${next}/f` } } };
      });
  }
  const guard = new SourceGuard({ sourceBuckets: [], sourceHosts: [], sourceCidrs: [], sourcePorts: [] });
  const { body } = await new HttpSource(agent, guard, 'tests').open(`${origins[0]}/f`, {
    headers: { authorization: 'x' },
    signal: new AbortController().signal,
  });
  await body.dump();
}

it('keeps the caller’s headers from http to https of the same host', async () => {
  await follow('http://h.test', 'https://h.test');
  expect(asked).toEqual([
    ['http://h.test', 'x'],
    ['https://h.test', 'x'],
  ]);
});

it.each([
  ['http://h.test', 'https://other.test'],
  ['http://h.test', 'https://h.test:8443'],
  ['http://h.test:8080', 'https://h.test'],
  ['https://h.test', 'http://h.test'],
  ['http://h.test', 'https://www.h.test'],
])('drops the caller’s headers when a redirect changes the origin: from %s to %s', async (from, to) => {
  await follow(from, to);
  expect(asked).toEqual([
    [from, 'x'],
    [to, undefined],
  ]);
});
