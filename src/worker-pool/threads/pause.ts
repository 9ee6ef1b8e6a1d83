import { setTimeout as sleep } from 'node:timers/promises';

/** @throws the signal's reason, as soon as it is aborted */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
