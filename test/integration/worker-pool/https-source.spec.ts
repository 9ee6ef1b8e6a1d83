import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Agent } from 'undici';
import { guardedAgent } from '../../../src/worker-pool/threads/guarded-agent.js';
import { HttpSource } from '../../../src/worker-pool/threads/http-source.js';
import { SourceGuard } from '../../../src/worker-pool/threads/source-guard.js';
import { head, RawOrigin } from '../../support/raw-origin.js';
import { selfMadeCertificate, type SelfMadeCertificate } from '../../support/self-made-certificate.js';

const HOST = 'files.example';
const { signal } = new AbortController();

describe('a source over https', () => {
  const trusted = getCACertificates('default');
  let certificate: SelfMadeCertificate;
  let server: Server;
  let plain: RawOrigin;
  let agents: Agent[];
  let names: unknown[];
  let authorizations: unknown[];

  beforeEach(async () => {
    [agents, names, authorizations] = [[], [], []];
    certificate = selfMadeCertificate(HOST);
    server = createServer(certificate, (request, response) => {
      authorizations.push(request.headers.authorization);
      if (request.url === '/down') response.writeHead(302, { location: `${plain.url}/file` }).end();
      else response.end('hello');
    });
    server.on('secureConnection', (socket) => names.push(socket.servername));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    plain = await RawOrigin.start();
  });
  afterEach(async () => {
    setDefaultCACertificates(trusted);
    await Promise.all(agents.map((agent) => agent.destroy()));
    await plain.close();
    server.close();
    await once(server, 'close');
  });

  function source(sourceCidrs = ['127.0.0.0/8']): HttpSource {
    const access = { sourceBuckets: [], sourceHosts: [], sourcePorts: [], sourceCidrs };
    const guard = new SourceGuard(access, (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]));
    const agent = guardedAgent(guard, 2);
    agents.push(agent);
    return new HttpSource(agent, guard, 'tests');
  }

  const at = (path: string, host = HOST) => `https://${host}:${(server.address() as AddressInfo).port}${path}`;
  const trust = () => setDefaultCACertificates([...trusted, certificate.cert]);

  it('is read when its certificate is trusted, and is told the name it is asked by', async () => {
    trust();
    expect(await text((await source().open(at('/file'), { signal })).body)).toBe('hello');
    expect(names).toEqual([HOST]);
  });

  it('is refused at once when nobody trusts its certificate', async () => {
    await expect(source().open(at('/file'), { signal })).rejects.toMatchObject({
      code: 'SOURCE_CERTIFICATE',
      disposition: 'reject',
      message: expect.stringMatching(/^the certificate of \S+ is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/) as unknown,
    });
    expect(authorizations).toEqual([]);
  });

  it('is refused at once when its certificate is for another name', async () => {
    trust();
    await expect(source().open(at('/file', 'other.example'), { signal })).rejects.toMatchObject({
      code: 'SOURCE_CERTIFICATE',
      disposition: 'reject',
    });
  });

  it('is under the same guard', async () => {
    trust();
    await expect(source([]).open(at('/file'), { signal })).rejects.toMatchObject({ code: 'SOURCE_NOT_ALLOWED' });
    expect(names).toEqual([]);
  });

  it('is not told the caller’s headers when http leads to it', async () => {
    trust();
    const url = plain.on('/up', (socket) => void socket.write(head(301, { location: at('/file'), 'content-length': '0' })));
    const { body } = await source().open(url, { headers: { authorization: 'x' }, signal });
    expect(await text(body)).toBe('hello');
    expect(plain.requests[0]?.headers).toMatchObject({ authorization: 'x' });
    expect(authorizations).toEqual([undefined]);
  });

  it('keeps the caller’s headers to itself when it leads to http', async () => {
    trust();
    plain.file('/file', Buffer.from('world'));
    const { body } = await source().open(at('/down'), { headers: { authorization: 'x' }, signal });
    expect(await text(body)).toBe('world');
    expect(authorizations).toEqual(['x']);
    expect(plain.requests[0]?.headers).not.toHaveProperty('authorization');
  });
});
