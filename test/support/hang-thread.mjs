// Preloaded (`--import`) by tests into the service and its worker threads: a thread hangs for good once the trigger file exists.
import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (!isMainThread)
  setInterval(() => {
    if (existsSync(process.env.HANG_THREAD_TRIGGER)) for (;;);
  }, 50).unref();
