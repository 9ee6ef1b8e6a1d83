interface Waiter {
  bytes: number;
  grant: () => void;
}

/** A buffer of the budget; what it holds at first is anyone's. */
export interface HeldBuffer {
  bytes: Buffer;
  /** Gives it back, once. `reuse` only when nobody reads it any more: a socket may still write what was sent and has failed. */
  release: (after?: 'reuse') => void;
}

/** From here on memory comes from the kernel, page by page, and the collector is driven by it: worth keeping. */
const KEPT_FROM_BYTES = 1024 * 1024;

/**
 * The bytes that the buffers of one thread may hold. A buffer is granted whole, before it is filled, and filling or sending it
 * needs no further grant: so whoever holds one can finish, and nobody waits in a circle. First come, first served, or a large
 * part would wait behind small ones for ever.
 *
 * Large buffers are used again while anything is held: made anew for each part they cost a quarter of the time of a large file.
 */
export class MemoryBudget {
  private held = 0;
  private spares: Buffer[] = [];
  private readonly waiting: Waiter[] = [];

  constructor(readonly totalBytes: number) {}

  get heldBytes(): number {
    return this.held;
  }

  /** Of buffers that wait for their next use; never, with those held, more than the total. */
  get spareBytes(): number {
    return this.spares.reduce((sum, spare) => sum + spare.length, 0);
  }

  /** Rejects with the signal's reason when it is aborted first. */
  async take(bytes: number, signal: AbortSignal): Promise<HeldBuffer> {
    signal.throwIfAborted();
    if (bytes > this.totalBytes) throw new Error(`${bytes} bytes are more than all ${this.totalBytes}`);
    if (this.waiting.length > 0 || !this.fits(bytes)) await this.wait(bytes, signal);
    else this.held += bytes;
    const buffer = this.bufferOf(bytes);
    let returned = false;
    return {
      bytes: buffer,
      release: (after) => {
        if (returned) return;
        returned = true;
        this.held -= bytes;
        if (after === 'reuse' && bytes >= KEPT_FROM_BYTES) this.spares.push(buffer);
        this.grantNext();
        if (this.held === 0) this.spares = [];
      },
    };
  }

  private bufferOf(bytes: number): Buffer {
    const index = this.spares.findIndex((spare) => spare.length === bytes);
    const [spare] = index === -1 ? [] : this.spares.splice(index, 1);
    while (this.held + this.spareBytes > this.totalBytes) this.spares.shift();
    return spare ?? Buffer.allocUnsafeSlow(bytes);
  }

  private fits(bytes: number): boolean {
    return this.held + bytes <= this.totalBytes;
  }

  private wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter = {
        bytes,
        grant: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        reject(signal.reason);
        this.grantNext();
      };
      this.waiting.push(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  private grantNext(): void {
    for (let next = this.waiting[0]; next !== undefined && this.fits(next.bytes); next = this.waiting[0]) {
      this.waiting.shift();
      this.held += next.bytes;
      next.grant();
    }
  }
}
