import { Agent, request } from 'undici';
import { readOrders, sayDone, sayReadyAndWait } from '../node-side.js';

const { files, limits } = await readOrders();
const connections = limits.threads * limits.filesPerThread;
const dispatcher = new Agent({ connections, pipelining: 1 });
await sayReadyAndWait();
const failures: string[] = [];
const queue = files.values();
await Promise.all(
  Array.from({ length: connections }, async () => {
    for (const { url, sizeBytes, key } of queue) {
      const { body } = await request(url, { dispatcher });
      let bytes = 0;
      for await (const piece of body) bytes += (piece as Buffer).length;
      if (bytes !== sizeBytes) failures.push(`${key}: ${bytes} bytes`);
    }
  }),
);
await dispatcher.close();
sayDone({ failures });
process.stdin.destroy();
