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

/** How a key stands to those before it: `same`, it came with the same content; `other`, its first one came with another. */
export type Repeat = 'new' | 'same' | 'other';

/**
 * Which hashes of keys were seen, by 58 bits of each, and 48 bits of the content that the first of each
 * came with: about 20 bytes a hash, so 10 MB for 500,000. Among 10,000,000 keys two different ones meet
 * with a chance of 1 in 5,000. So `other` is a suspicion to be proven, never a proof; `same` is one:
 * two files would have to meet in 106 bits. The table is 1,024 small ones: none takes long to grow,
 * and their growth needs no second copy of the whole.
 */
export class KeySet {
  readonly #shards: (Shard | undefined)[] = [];

  add({ high, low }: KeyHash, content: KeyHash): Repeat {
    const shard = (this.#shards[low % SHARDS] ??= new Shard());
    return shard.add(high || 1, low >>> 16, content);
  }
}

/** Open addressing with linear probing; `high` 0 is a free slot. */
class Shard {
  #high = new Uint32Array(FIRST_SLOTS);
  #low = new Uint16Array(FIRST_SLOTS);
  #contentHigh = new Uint32Array(FIRST_SLOTS);
  #contentLow = new Uint16Array(FIRST_SLOTS);
  #used = 0;

  add(high: number, low: number, content: KeyHash): Repeat {
    const slot = this.#find(high, low);
    const contentLow = content.low >>> 16;
    if (this.#high[slot] !== 0) return this.#contentHigh[slot] === content.high && this.#contentLow[slot] === contentLow ? 'same' : 'other';
    this.#put(slot, high, low, content.high, contentLow);
    this.#used++;
    if (this.#used > this.#high.length * MAX_LOAD) this.#grow();
    return 'new';
  }

  #find(high: number, low: number): number {
    let slot = high % this.#high.length;
    while (this.#high[slot] !== 0 && (this.#high[slot] !== high || this.#low[slot] !== low)) slot = (slot + 1) % this.#high.length;
    return slot;
  }

  #put(slot: number, high: number, low: number, contentHigh: number, contentLow: number): void {
    this.#high[slot] = high;
    this.#low[slot] = low;
    this.#contentHigh[slot] = contentHigh;
    this.#contentLow[slot] = contentLow;
  }

  #grow(): void {
    const [highs, lows, contentHighs, contentLows] = [this.#high, this.#low, this.#contentHigh, this.#contentLow];
    const slots = Math.ceil(highs.length * GROWTH);
    this.#high = new Uint32Array(slots);
    this.#low = new Uint16Array(slots);
    this.#contentHigh = new Uint32Array(slots);
    this.#contentLow = new Uint16Array(slots);
    for (const [index, high] of highs.entries()) {
      if (high === 0) continue;
      const low = lows[index] ?? 0;
      this.#put(this.#find(high, low), high, low, contentHighs[index] ?? 0, contentLows[index] ?? 0);
    }
  }
}
