import type { Readable } from 'node:stream';
import type { LeastSpeed } from '../domain/least-speed.js';
import { TransferError } from '../domain/transfer-error.js';
import { codeOf } from './connection-errors.js';
import { isNoHttp } from './request-errors.js';
import type { SourceWait } from './transfer-signs.js';

export interface BodyExpectation {
  /** Bytes the body must have, if anyone said. */
  size?: number;
  /** Bytes of it that were read before, from another answer. */
  from?: number;
  /** Reading may wait this long for the next byte. The time in which nobody reads does not count. */
  stallTimeoutMs: number;
  /** What the source is held to, if to anything. */
  speed?: LeastSpeed;
  /** Is told when the body is read, and when something comes. */
  wait?: SourceWait;
  signal: AbortSignal;
}

/** A body that ended before its framing said so, or that stalled: what was read of it is good. */
export class CutBody extends TransferError {}

/**
 * The bytes of a source, counted.
 * @throws CutBody, or TransferError, of code `SIZE_MISMATCH` (fewer or more than expected), `SOURCE_STALLED`, `SOURCE_CONNECTION`,
 * `SOURCE_PROTOCOL` (broken chunks), `SOURCE_TOO_SLOW`, or the reason of the signal.
 */
export async function* readBody(body: Readable, expect: BodyExpectation): AsyncGenerator<Buffer, void, void> {
  let reading = false;
  let bytes = expect.from ?? 0;
  // A thread that was busy looks at its timers before it reads what has come meanwhile.
  let lastLook: NodeJS.Immediate | undefined;
  const giveUp = () => reading && body.destroy(stalled(expect));
  const watchdog = setTimeout(() => (lastLook = setImmediate(giveUp)), expect.stallTimeoutMs);
  const stop = () => body.destroy();
  expect.signal.addEventListener('abort', stop, { once: true });
  try {
    const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
    for (;;) {
      expect.signal.throwIfAborted();
      reading = true;
      clearImmediate(lastLook);
      watchdog.refresh();
      expect.wait?.begin();
      const beganAtMs = performance.now();
      const next = await chunks.next();
      expect.wait?.heard();
      reading = false;
      if (next.done === true) break;
      expect.speed?.note(performance.now() - beganAtMs, next.value.length);
      bytes += next.value.length;
      if (expect.size !== undefined && bytes > expect.size) throw sizeMismatch(`more than the ${expect.size} bytes expected`);
      yield next.value;
    }
    if (expect.size !== undefined && bytes < expect.size) throw sizeMismatch(`${bytes} of ${expect.size} bytes`);
  } catch (error) {
    throw bodyError(error, bytes, expect);
  } finally {
    clearTimeout(watchdog);
    clearImmediate(lastLook);
    expect.signal.removeEventListener('abort', stop);
    body.destroy();
  }
}

function stalled({ stallTimeoutMs }: BodyExpectation): CutBody {
  return new CutBody('SOURCE_STALLED', `no bytes for ${stallTimeoutMs / 1_000} s`, { retryable: true });
}

export function sizeMismatch(message: string): TransferError {
  return new TransferError('SIZE_MISMATCH', message, { retryable: true });
}

function bodyError(error: unknown, bytes: number, expect: BodyExpectation): unknown {
  if (expect.signal.aborted) return expect.signal.reason;
  if (error instanceof TransferError) return error;
  // No cut: where a chunk is not as long as it says, the bytes before may be wrong already.
  if (isNoHttp(error))
    return new TransferError('SOURCE_PROTOCOL', `the framing of the body is broken after ${bytes} bytes`, {
      retryable: true,
      cause: error,
    });
  if (expect.size !== undefined)
    return new CutBody('SIZE_MISMATCH', `the body was cut after ${bytes} of ${expect.size} bytes`, { retryable: true, cause: error });
  return new CutBody('SOURCE_CONNECTION', `the connection broke after ${bytes} bytes (${codeOf(error)})`, {
    retryable: true,
    cause: error,
  });
}
