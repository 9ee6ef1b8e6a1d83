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
  /** Gives the buffer back to the budget: the receiver's duty. */
  release: HeldBuffer['release'];
}

export interface FillOptions {
  /** Bytes of the body, if known. */
  size: number | undefined;
  budget: MemoryBudget;
  crc32: boolean;
  signal: AbortSignal;
}

/** Cuts a body into parts in buffers of the budget. A part is handed out once it is known whether more follows, so one part may be all. */
export async function* fillParts(chunks: AsyncIterator<Buffer, void>, options: FillOptions): AsyncGenerator<FilledPart, void, void> {
  let bytesBefore = 0;
  let rest: Buffer = Buffer.alloc(0);
  for (let number = 1; ; number++) {
    const place = { number, bytesBefore, size: options.size };
    const capacity = partBytes(place, options.budget.totalBytes);
    if (capacity === undefined) throw new TransferError('TOO_LARGE', tooLargeText(place, options.budget.totalBytes), { retryable: false });
    const { bytes: buffer, release } = await options.budget.take(capacity, options.signal);
    let part: FilledPart;
    try {
      let filled = 0;
      let checksum = options.crc32 ? 0 : undefined;
      let last = false;
      for (;;) {
        const copied = rest.copy(buffer, filled);
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
      part = { number, bytes: buffer.subarray(0, filled), crc32: checksum, last, release };
    } catch (error) {
      release();
      throw error;
    }
    yield part;
    if (part.last) return;
    bytesBefore += part.bytes.length;
  }
}
