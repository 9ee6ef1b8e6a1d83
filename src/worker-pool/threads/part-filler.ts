import { partBytes, tooLargeText } from '../domain/part-plan.js';
import { TransferError } from '../domain/transfer-error.js';
import type { MemoryBudget } from './memory-budget.js';

export interface FilledPart {
  /** 1, 2, 3 … */
  number: number;
  bytes: Buffer;
  /** True when the body ended with this part. */
  last: boolean;
  /** Gives the buffer's bytes back to the budget: the receiver's duty. */
  release: () => void;
}

/** Cuts a body into parts in buffers of the budget. A part is handed out once it is known whether more follows, so one part may be all. */
export async function* fillParts(
  chunks: AsyncIterator<Buffer, void>,
  options: { size: number | undefined; budget: MemoryBudget; signal: AbortSignal },
): AsyncGenerator<FilledPart, void, void> {
  let bytesBefore = 0;
  let rest: Buffer = Buffer.alloc(0);
  for (let number = 1; ; number++) {
    const place = { number, bytesBefore, size: options.size };
    const capacity = partBytes(place, options.budget.totalBytes);
    if (capacity === undefined) throw new TransferError('TOO_LARGE', tooLargeText(place, options.budget.totalBytes), { retryable: false });
    const release = await options.budget.take(capacity, options.signal);
    let part: FilledPart;
    try {
      const buffer = Buffer.allocUnsafeSlow(capacity);
      let filled = 0;
      let last = false;
      for (;;) {
        const copied = rest.copy(buffer, filled);
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
      part = { number, bytes: buffer.subarray(0, filled), last, release };
    } catch (error) {
      release();
      throw error;
    }
    yield part;
    if (part.last) return;
    bytesBefore += part.bytes.length;
  }
}
