import { setTimeout as sleep } from 'node:timers/promises';

/** 0 at once, then 1, 2, 3 …, a second after the consumer is done with the last; ends when the signal is aborted. */
export async function* seconds(signal: AbortSignal): AsyncGenerator<number> {
  for (let second = 0; !signal.aborted; second++) {
    yield second;
    await sleep(1_000, undefined, { signal }).catch(() => undefined);
  }
}
