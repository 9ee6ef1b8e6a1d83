import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { text } from 'node:stream/consumers';
import type { Agent } from 'undici';
import { guardedAgent, type AgentTimeouts } from '../../../src/worker-pool/threads/guarded-agent.js';
import { HttpSource } from '../../../src/worker-pool/threads/http-source.js';
import type { Resolve } from '../../../src/worker-pool/threads/shared-look-ups.js';
import { SourceGuard, type SourceAccess } from '../../../src/worker-pool/threads/source-guard.js';
import { head, RawOrigin } from '../../support/raw-origin.js';
import { SilentAddress } from '../../support/silent-address.js';
import { eventually } from './pool-support.js';

const LOCAL: LookupAddress = { address: '127.0.0.1', family: 4 };
const METADATA: LookupAddress = { address: '169.254.169.254', family: 4 };
const { signal } = new AbortController();

describe('connections to sources', () => {
  let origin: RawOrigin;
  const agents: Agent[] = [];

  beforeEach(async () => {
    origin = await RawOrigin.start();
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
    await origin.close();
  });

  interface Setting {
    resolve?: Resolve;
    access?: Partial<SourceAccess>;
    timeouts?: Partial<AgentTimeouts>;
    connections?: number;
  }

  function source({ resolve, access, timeouts, connections = 4 }: Setting = {}): HttpSource {
    const allowed = { sourceBuckets: [], sourceHosts: [], sourceCidrs: ['127.0.0.0/8'], sourcePorts: [], ...access };
    const guard = new SourceGuard(allowed, resolve);
    const agent = guardedAgent(guard, connections, { connectMs: 10_000, addressMs: 2_500, headersMs: 60_000, ...timeouts });
    agents.push(agent);
    return new HttpSource(agent, guard, 'tests');
  }

  /** Names resolve to these, look-up after look-up; the last stays. */
  function resolvesTo(...answers: LookupAddress[][]): Resolve & { count: number } {
    const resolve = Object.assign(
      (...[, , callback]: Parameters<Resolve>) => {
        const answer = answers[Math.min(resolve.count, answers.length - 1)] ?? [];
        resolve.count += 1;
        setImmediate(() => callback(null, answer));
      },
      { count: 0 },
    );
    return resolve;
  }

  const named = (path: string) => `http://files.example:${origin.port}${path}`;
  const read = async (from: HttpSource, url: string) => text((await from.open(url, { signal })).body);

  describe('by name', () => {
    beforeEach(() => void origin.file('/file', Buffer.from('hello')));

    it('go to the address that was judged: a name is looked up once for each', async () => {
      const resolve = resolvesTo([LOCAL], [METADATA]);
      expect(await read(source({ resolve }), named('/file'))).toBe('hello');
      expect(resolve.count).toBe(1);
    });

    it('are judged again when the name has changed its mind', async () => {
      const from = source({ resolve: resolvesTo([LOCAL], [METADATA]) });
      origin.on('/last', (socket) => void socket.end(`${head(200, { 'content-length': '5', connection: 'close' })}hello`));
      expect(await read(from, named('/last'))).toBe('hello');
      await eventually(() => origin.connections === 0);
      await expect(from.open(named('/file'), { signal })).rejects.toMatchObject({ code: 'SOURCE_NOT_ALLOWED', disposition: 'reject' });
    });

    it('never try the addresses that are not allowed, beside one that is', async () => {
      expect(await read(source({ resolve: resolvesTo([METADATA, LOCAL]) }), named('/file'))).toBe('hello');
    });

    it('are ended before a byte is sent when the socket turns out to be elsewhere', async () => {
      // A guard whose look-up lets everything pass: what is left is the judgement of the socket.
      const guard = new SourceGuard({ sourceBuckets: [], sourceHosts: [], sourceCidrs: [], sourcePorts: [] });
      Object.assign(guard, { lookup: (...[, , callback]: Parameters<Resolve>) => callback(null, [LOCAL]) });
      const agent = guardedAgent(guard, 1);
      agents.push(agent);
      await expect(new HttpSource(agent, guard, 'tests').open(named('/file'), { signal })).rejects.toMatchObject({
        code: 'SOURCE_NOT_ALLOWED',
      });
      expect(origin.requests).toEqual([]);
    });

    it('go to IPv4 when nobody is there on IPv6', async () => {
      const resolve = resolvesTo([{ address: '::1', family: 6 }, LOCAL]);
      expect(await read(source({ resolve, access: { sourceCidrs: ['127.0.0.0/8', '::1/128'] } }), named('/file'))).toBe('hello');
    });

    describe('to an address that nobody answers for', () => {
      const SILENT: LookupAddress = { address: '127.0.0.2', family: 4 };
      const timeouts = { addressMs: 250, connectMs: 60_000 };
      let silent: SilentAddress;

      beforeEach(async () => {
        silent = await SilentAddress.at(SILENT.address, origin.port);
      });
      afterEach(() => silent.close());

      it('are tried at the next one after a while', async () => {
        const before = performance.now();
        expect(await read(source({ resolve: resolvesTo([SILENT, LOCAL]), timeouts }), named('/file'))).toBe('hello');
        expect(performance.now() - before).toBeGreaterThan(timeouts.addressMs - 50);
      });

      it('are given up in time when there is no other', async () => {
        const before = performance.now();
        const from = source({ resolve: resolvesTo([SILENT, SILENT]), timeouts: { ...timeouts, connectMs: 700 } });
        await expect(from.open(named('/file'), { signal })).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT', disposition: 'retry' });
        expect(performance.now() - before).toBeGreaterThan(timeouts.addressMs);
      });
    });

    it('fail as worth another try when the name is unknown', async () => {
      const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND files.example'), { code: 'ENOTFOUND' });
      const from = source({ resolve: (_name, _options, callback) => callback(unknown, []) });
      await expect(from.open(named('/file'), { signal })).rejects.toMatchObject({
        code: 'SOURCE_CONNECTION',
        disposition: 'retry',
        message: `there is no host files.example:${origin.port} (ENOTFOUND)`,
      });
    });

    it('fail in time when the resolver is silent', async () => {
      const from = source({ resolve: () => {}, timeouts: { connectMs: 100 } });
      await expect(from.open(named('/file'), { signal })).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT', disposition: 'retry' });
    });
  });

  describe('that do not answer', () => {
    it.each([
      { how: 'silent', interim: '' },
      { how: 'only announcing', interim: head(103, { link: '<x>' }) },
    ])('are given up in time when $how', async ({ interim }) => {
      const url = origin.on('/slow', (socket) => {
        const announcing = setInterval(() => socket.write(interim), 10);
        socket.on('close', () => clearInterval(announcing));
      });
      await expect(source({ timeouts: { headersMs: 100 } }).open(url, { signal })).rejects.toMatchObject({
        code: 'HEADERS_TIMEOUT',
        disposition: 'retry',
      });
      await eventually(() => origin.connections === 0);
    });

    it('have all their time however long the request waited for a connection', async () => {
      const from = source({ timeouts: { headersMs: 100 }, connections: 1 });
      const slow = origin.on('/slow', (socket) => {
        socket.write(head(200, { 'content-length': '5' }));
        setTimeout(() => socket.write('hello'), 300);
      });
      const first = read(from, slow);
      expect(await Promise.all([first, read(from, origin.file('/file', Buffer.from('world')))])).toEqual(['hello', 'world']);
    });
  });
});
