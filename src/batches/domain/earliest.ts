import type { MonotonicMs } from '../../shared/index.js';

/** The first of these instants; those that never come are `undefined`. */
export function earliest(instants: Iterable<MonotonicMs | undefined>): MonotonicMs | undefined {
  let first: MonotonicMs | undefined;
  for (const at of instants) if (at !== undefined && (first === undefined || at < first)) first = at;
  return first;
}
