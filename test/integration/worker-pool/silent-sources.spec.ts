import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { head } from '../../support/raw-origin.js';
import { benchForEach, eventually, MIB, pattern, SOURCE_BUCKET, type TransferBench } from './pool-support.js';
import { QuickTransfers } from './quick-transfers.js';

const FAR = { headersMs: 60_000, stallTimeoutMs: 60_000, taskTimeoutMs: 60_000 };
const BYTES = pattern(1_000);

describe('a source', () => {
  let bench: TransferBench;
  let transfers: QuickTransfers;

  beforeEach(() => void (transfers = QuickTransfers.create({ ...FAR, memoryMb: 16 })));
  afterEach(() => transfers.close());
  benchForEach((fresh) => ({ bench } = fresh));

  /** An origin that answers with the head and half of the bytes at once, and the rest when it is told. */
  function inHalves(): { url: string; sockets: Socket[] } {
    const sockets: Socket[] = [];
    const url = bench.origin.on('/halves', (socket) => {
      socket.write(head(200, { 'content-length': String(BYTES.length) }));
      socket.write(BYTES.subarray(0, 500));
      sockets.push(socket);
    });
    return { url, sockets };
  }

  it('that takes the request and does not answer is silent, and is heard with its answer', async () => {
    let socket: Socket | undefined;
    const task = bench.task(bench.origin.on('/late', (asked) => void (socket = asked)));
    const outcome = transfers.run(task);
    await eventually(() => transfers.signsOf(task).includes('SILENT'));
    socket?.write(head(200, { 'content-length': '1000' }));
    await eventually(() => transfers.signsOf(task).includes('HEARD'));
    socket?.write(BYTES);
    expect(await outcome).toMatchObject({ success: true });
    expect(transfers.signsOf(task)).toEqual(['SILENT', 'HEARD', 'READ']);
  });

  it('that stops in its body is silent, and is heard with the next byte', async () => {
    const { url, sockets } = inHalves();
    const task = bench.task(url);
    const outcome = transfers.run(task);
    await eventually(() => transfers.signsOf(task).includes('SILENT'));
    sockets[0]?.write(BYTES.subarray(500));
    expect(await outcome).toMatchObject({ success: true });
    expect(transfers.signsOf(task)).toEqual(['SILENT', 'HEARD', 'READ']);
  });

  it('that sends a little every second is not silent', async () => {
    const task = bench.task(
      bench.origin.on('/drip', (socket) => {
        socket.write(head(200, { 'content-length': '4' }));
        const drip = setInterval(() => socket.write('x'), 1_000);
        socket.on('close', () => clearInterval(drip));
      }),
    );
    expect(await transfers.run(task)).toMatchObject({ success: true });
    expect(transfers.signsOf(task)).toEqual(['READ']);
  });

  it('whose reading stops because S3 is slow is not silent', async () => {
    bench.endpoint.faults.add({ operation: 'UploadPart', action: { kind: 'delay', ms: 3_000 } });
    const task = bench.task(bench.origin.file('/large', pattern(25 * MIB)));
    expect(await transfers.run(task)).toMatchObject({ success: true });
    expect(transfers.signsOf(task)).toEqual(['READ']);
  });

  it('that has been read is not silent, however long S3 takes', async () => {
    bench.endpoint.faults.add({ operation: 'PutObject', action: { kind: 'delay', ms: 3_000 } });
    const task = bench.task(bench.origin.file('/small', BYTES));
    expect(await transfers.run(task)).toMatchObject({ success: true });
    expect(transfers.signsOf(task)).toEqual(['READ']);
  });

  it('in S3 that does not answer is silent, too', async () => {
    await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'file', Body: BYTES }));
    bench.endpoint.faults.add({ operation: 'GetObject', times: 1, action: { kind: 'delay', ms: 3_000 } });
    // S3 does not know the checksum, so the bytes must be read.
    const checksum = { algorithm: 'md5', value: createHash('md5').update(BYTES).digest('hex') } as const;
    const task = bench.task(`s3://${SOURCE_BUCKET}/file`, { checksum });
    expect(await transfers.run(task)).toMatchObject({ success: true });
    expect(transfers.signsOf(task)).toEqual(['SILENT', 'HEARD', 'READ']);
  });

  it('tells its pool of both', async () => {
    const { url, sockets } = inHalves();
    const pool = await bench.pool();
    const told: string[] = [];
    const note = (sign: string) => () => void told.push(sign);
    const signs = { onSilent: note('silent'), onHeard: note('heard'), onRead: note('read') };
    const outcome = pool.run(bench.task(url), { signal: new AbortController().signal, ...signs });
    await eventually(() => told.includes('silent'));
    sockets[0]?.write(BYTES.subarray(500));
    expect(await outcome).toMatchObject({ success: true });
    expect(told).toEqual(['silent', 'heard', 'read']);
  });

  describe('behind a port', () => {
    let server: Server;
    const sockets = new Set<Socket>();

    beforeEach(async () => {
      server = createServer((socket) => void sockets.add(socket.on('error', () => {})));
      await once(server.listen(0, '127.0.0.1'), 'listening');
    });
    afterEach(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });

    it('where a connection does not come about is silent', async () => {
      const abort = new AbortController();
      const pool = await bench.pool();
      let isSilent = false;
      // The port accepts, and never says a word of TLS.
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const outcome = pool.run(bench.task(url), { signal: abort.signal, onSilent: () => (isSilent = true) });
      await eventually(() => isSilent);
      abort.abort();
      expect(await outcome).toMatchObject({ error: { code: 'ABORTED' } });
    });
  });
});
