import { parentPort } from 'node:worker_threads';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import { bringFile } from './bring-file.js';

/** One file at a time; answers with what went wrong, or with nothing. */
parentPort?.on('message', (file: PlannedFile) => {
  void bringFile(file).then(
    () => answer(undefined),
    (error: unknown) => answer(`${file.key}: ${String(error)}`),
  );
});
answer('ready');

function answer(words: string | undefined): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
  parentPort?.postMessage(words);
}
