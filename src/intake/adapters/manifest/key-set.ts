/** 64 bits. */
export interface KeyHash {
  high: number;
  low: number;
}

/** The lowest bits of `low` choose a table of a set. */
export const SHARD_BITS = 10;
const SHARDS = 2 ** SHARD_BITS;
const FIRST_SLOTS = 16;
const MAX_LOAD = 0.75;
const GROWTH = 1.25;

/**
 * Which hashes were seen, by 58 bits of each: 8 to 10 bytes a hash, so about 10 MB for 1,000,000.
 * Among 10,000,000 keys two different ones meet with a chance of 1 in 5,000. So a hit is a
 * suspicion to be proven, never a proof. The table is 1,024 small ones: none takes long to grow,
 * and their growth needs no second copy of the whole.
 */
export class KeySet {
  readonly #shards: (Shard | undefined)[] = [];

  /** False when the hash, or very rarely another one, was added before. */
  add({ high, low }: KeyHash): boolean {
    const shard = (this.#shards[low % SHARDS] ??= new Shard());
    return shard.add(high || 1, low >>> 16);
  }
}

/** Open addressing with linear probing; `high` 0 is a free slot. */
class Shard {
  #high = new Uint32Array(FIRST_SLOTS);
  #low = new Uint16Array(FIRST_SLOTS);
  #used = 0;

  add(high: number, low: number): boolean {
    const slot = this.#find(high, low);
    if (this.#high[slot] !== 0) return false;
    this.#high[slot] = high;
    this.#low[slot] = low;
    this.#used++;
    if (this.#used > this.#high.length * MAX_LOAD) this.#grow();
    return true;
  }

  #find(high: number, low: number): number {
    let slot = high % this.#high.length;
    while (this.#high[slot] !== 0 && (this.#high[slot] !== high || this.#low[slot] !== low)) slot = (slot + 1) % this.#high.length;
    return slot;
  }

  #grow(): void {
    const [highs, lows] = [this.#high, this.#low];
    this.#high = new Uint32Array(Math.ceil(highs.length * GROWTH));
    this.#low = new Uint16Array(this.#high.length);
    for (const [index, high] of highs.entries()) {
      if (high === 0) continue;
      const low = lows[index] ?? 0;
      const slot = this.#find(high, low);
      this.#high[slot] = high;
      this.#low[slot] = low;
    }
  }
}
