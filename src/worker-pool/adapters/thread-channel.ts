import { Worker } from 'node:worker_threads';
import type { ThreadSettings, ToThreadMessage } from '../protocol/thread-messages.schema.js';
import { TransferThread } from '../threads/transfer-thread.js';

export interface ThreadListener {
  /** A message as it came, not yet checked. */
  onMessage: (raw: unknown) => void;
  /** The last event: the thread has ended, by itself or by `terminate`. `cause` is the error that ended it, if one did. */
  onExit: (cause?: unknown) => void;
}

/** One life of a thread, as the pool sees it. */
export interface ThreadChannel {
  post(message: ToThreadMessage): void;
  /** Ends the thread whatever it does; `onExit` follows. */
  terminate(): void;
}

export type OpenThreadChannel = (listener: ThreadListener) => ThreadChannel;

/**
 * JavaScript heap of a thread: the buffers of transfers lie outside of it, under their own budget. The young generation is small
 * because V8 lets a heap at its limit grow by little while it ends the thread: with the default size the objects promoted
 * meanwhile did not fit, and that aborts the whole process. One huge allocation may still do so. Why
 * no more than 4 MB: docs/decisions/0014.
 */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 };

/** A worker that runs `entry`, in the environment of this process. */
export function workerChannel(entry: URL, settings: ThreadSettings): OpenThreadChannel {
  return (listener) => {
    const worker = new Worker(entry, { workerData: settings, env: process.env, resourceLimits: HEAP_LIMITS });
    let cause: unknown;
    worker.on('message', listener.onMessage);
    worker.on('error', (error) => (cause = error));
    worker.on('exit', () => listener.onExit(cause));
    return {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
      post: (message) => worker.postMessage(message),
      terminate: () => void worker.terminate(),
    };
  };
}

/** No thread: the same code on this one, for tests. It cannot be terminated, only shut down. */
export function inlineChannel(settings: ThreadSettings): OpenThreadChannel {
  return (listener) => {
    const thread = new TransferThread(settings, listener.onMessage, listener.onExit);
    queueMicrotask(() => listener.onMessage({ type: 'READY', payload: {} }));
    return { post: (message) => thread.receive(message), terminate: () => thread.receive({ type: 'SHUTDOWN', payload: {} }) };
  };
}
