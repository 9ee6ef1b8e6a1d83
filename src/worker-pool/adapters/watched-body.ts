import { Readable } from 'node:stream';
import { readBody, type BodyExpectation } from '../threads/source-body.js';
import { STALL_TIMEOUT_MS } from './pool-settings.js';

/**
 * A body that fails with a TransferError when it is cut, has more or fewer bytes than `size`, or sends nothing for a minute while somebody reads it.
 * The time in which nobody reads does not count: a list may stand in line for its turn. Destroyed, it lets its connection go at once.
 */
export function watchedBody(source: Readable, { size, signal, stallTimeoutMs = STALL_TIMEOUT_MS }: WatchedBodyOptions): Readable {
  const expected = { ...(size === undefined ? {} : { size }), stallTimeoutMs, signal };
  const body = Readable.from(readBody(source, expected), { objectMode: false });
  // A read that is under way would otherwise keep the connection until the next byte.
  body.once('close', () => source.destroy());
  return body;
}

export type WatchedBodyOptions = Pick<BodyExpectation, 'size' | 'signal'> & { stallTimeoutMs?: number };
