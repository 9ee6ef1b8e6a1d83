import { parentPort, workerData } from 'node:worker_threads';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import type { Limits } from '../contender.js';
import { bringFile } from './bring-file.js';

/** One file at a time; answers with what went wrong, or with nothing. */
parentPort?.on('message', (file: PlannedFile) => {
  void bringFile(file, workerData as Limits).then(
    () => answer(undefined),
    (error: unknown) => answer(`${file.key}: ${String(error)}`),
  );
});
answer('ready');

function answer(words: string | undefined): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
  parentPort?.postMessage(words);
}
