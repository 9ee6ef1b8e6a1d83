import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** Listens, and then never looks again: the kernel takes as many connections as its queue has room for, and drops what comes then. */
const DEAF = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage('listening');
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;
/** A connection to this machine that is not made after this time is not made. */
const SILENT_MS = 100;
const MOST_QUEUED = 20;

/** An address of this machine that answers no attempt to connect, neither with yes nor with no: as one does that a firewall swallows. */
export class SilentAddress {
  private constructor(
    private readonly worker: Worker,
    private readonly queued: Socket[],
  ) {}

  static async at(host: string, port: number): Promise<SilentAddress> {
    const worker = new Worker(DEAF, { eval: true, workerData: { host, port } });
    await once(worker, 'message');
    const silent = new SilentAddress(worker, []);
    while (silent.queued.length < MOST_QUEUED && (await silent.takes(host, port)));
    return silent;
  }

  async close(): Promise<void> {
    for (const socket of this.queued) socket.destroy();
    await this.worker.terminate();
  }

  private takes(host: string, port: number): Promise<boolean> {
    const socket = connect({ host, port });
    this.queued.push(socket.on('error', () => {}));
    return new Promise((resolve) => {
      // A busy machine may be late to tell of a connection that was made: what has come is looked
      // at before it is given up.
      const timer = setTimeout(() => setImmediate(() => resolve(false)), SILENT_MS);
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}
