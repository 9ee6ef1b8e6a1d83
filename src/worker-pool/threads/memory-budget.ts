interface Waiter {
  bytes: number;
  grant: () => void;
}

/**
 * The bytes that the buffers of one thread may hold. A buffer is granted whole, before it is filled, and filling or sending it
 * needs no further grant: so whoever holds one can finish, and nobody waits in a circle. First come, first served, or a large
 * part would wait behind small ones for ever.
 */
export class MemoryBudget {
  private held = 0;
  private readonly waiting: Waiter[] = [];

  constructor(readonly totalBytes: number) {}

  get heldBytes(): number {
    return this.held;
  }

  /** Resolves with the function that gives the bytes back (once). Rejects with the signal's reason when it is aborted first. */
  async take(bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (bytes > this.totalBytes) throw new Error(`${bytes} bytes are more than all ${this.totalBytes}`);
    if (this.waiting.length > 0 || !this.fits(bytes)) await this.wait(bytes, signal);
    else this.held += bytes;
    let returned = false;
    return () => {
      if (returned) return;
      returned = true;
      this.held -= bytes;
      this.grantNext();
    };
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
