import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadSettings, ToThreadMessage } from '../protocol/thread-messages.schema.js';
import { TransferThread } from './transfer-thread.js';

/** Entry of a worker: the pool starts this file with ThreadSettings as its workerData. */
const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');
const thread = new TransferThread(
  workerData as ThreadSettings,
  (message) => port.postMessage(message),
  () => port.close(),
);
port.on('message', (message: ToThreadMessage) => thread.receive(message));
port.postMessage({ type: 'READY', payload: {} });
