import { crc32 } from 'node:zlib';
import { partBytes, tooLargeText } from '../domain/part-plan.js';
import { TransferError } from '../domain/transfer-error.js';
import type { HeldBuffer, MemoryBudget } from './memory-budget.js';

export interface FilledPart {
  /** 1, 2, 3 … */
  number: number;
  bytes: Buffer;
  /** CRC-32, where it is wanted: of the bytes as they came, so that S3 refuses a part that became another on its way through here. */
  crc32: number | undefined;
  /** True when the body ended with this part. */
  last: boolean;
  /** Gives the buffer back: the receiver's duty. */
  release: HeldBuffer['release'];
}

export interface FillOptions {
  /** Bytes of the body, if known. */
  size: number | undefined;
  jobId: string;
  budget: MemoryBudget;
  crc32: boolean;
  signal: AbortSignal;
}

/** What each part begins in. 32 times as many bytes are sent in a part, so that the copy costs a fast body nothing to speak of. */
export const BEGINNING_BYTES = 256 * 1024;

/**
 * Cuts a body into parts. A part is handed out once it is known whether more follows, so one part may be all.
 *
 * A part begins in a small buffer of its body's own and moves to one of the budget when more has come than that holds: a source that sends
 * its head and then a byte now and then would otherwise keep 8 MiB from all others. A body that fits the small buffer needs nothing of the
 * budget. There is one such buffer a task, so they hold BEGINNING_BYTES times the tasks in hand at most.
 */
export async function* fillParts(chunks: AsyncIterator<Buffer, void>, options: FillOptions): AsyncGenerator<FilledPart, void, void> {
  const { size, jobId, budget, signal } = options;
  let bytesBefore = 0;
  let rest: Buffer = Buffer.alloc(0);
  let beginning: Buffer | undefined;
  for (let number = 1; ; number++) {
    const place = { number, bytesBefore, size };
    const capacity = partBytes(place, budget.totalBytes);
    if (capacity === undefined) throw new TransferError('TOO_LARGE', tooLargeText(place, budget.totalBytes), { retryable: false });
    beginning ??= Buffer.allocUnsafeSlow(Math.min(capacity, BEGINNING_BYTES));
    let bytes = beginning.subarray(0, capacity);
    let held: HeldBuffer | undefined;
    let part: FilledPart;
    try {
      let filled = 0;
      let checksum = options.crc32 ? 0 : undefined;
      let last = false;
      for (;;) {
        if (filled + rest.length > bytes.length && bytes.length < capacity) {
          held = await budget.take(capacity, jobId, signal);
          bytes.copy(held.bytes, 0, 0, filled);
          ({ bytes } = held);
        }
        const copied = rest.copy(bytes, filled);
        if (checksum !== undefined && copied > 0) checksum = crc32(rest.subarray(0, copied), checksum);
        filled += copied;
        rest = rest.subarray(copied);
        if (rest.length > 0) break;
        const next = await chunks.next();
        if (next.done === true) {
          last = true;
          break;
        }
        rest = next.value;
      }
      part = { number, bytes: bytes.subarray(0, filled), crc32: checksum, last, release: held?.release ?? (() => {}) };
    } catch (error) {
      held?.release();
      throw error;
    }
    // The next part begins in it again, unless this one leaves in it.
    if (held === undefined) beginning = undefined;
    yield part;
    if (part.last) return;
    bytesBefore += part.bytes.length;
  }
}
