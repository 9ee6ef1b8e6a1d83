import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import { readOrders, sayDone, sayReadyAndWait } from '../node-side.js';

const { files, limits } = await readOrders();
const workers = Array.from({ length: limits.threads }, () => new Worker(new URL('./thread.js', import.meta.url), { workerData: limits }));
await Promise.all(workers.map((worker) => once(worker, 'message')));
await sayReadyAndWait();
const queue = files.values();
const failures: string[] = [];
await Promise.all(workers.map((worker) => bringAll(worker, queue)));
sayDone({ failures });
await Promise.all(workers.map((worker) => worker.terminate()));
process.stdin.destroy();

/** One file after the other. */
async function bringAll(worker: Worker, queue: Iterable<PlannedFile>): Promise<void> {
  for (const file of queue) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    worker.postMessage(file);
    const [failure] = (await once(worker, 'message')) as [string | undefined];
    if (failure !== undefined) failures.push(failure);
  }
}
