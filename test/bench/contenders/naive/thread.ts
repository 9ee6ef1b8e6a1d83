import { parentPort } from 'node:worker_threads';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import { bringFile } from './bring-file.js';

/** One file at a time; answers with what went wrong, or with nothing. */
parentPort?.on('message', (file: PlannedFile) => {
  void bringFile(file).then(
    () => parentPort?.postMessage(undefined),
    (error: unknown) => parentPort?.postMessage(`${file.key}: ${String(error)}`),
  );
});
parentPort?.postMessage('ready');
