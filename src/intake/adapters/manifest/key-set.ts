const SHARDS = 1_024;
const FIRST_SLOTS = 16;
const MAX_LOAD = 0.75;
const GROWTH = 1.25;

/**
 * Which keys were seen, by 58 bits of hash each: 8 to 10 bytes a key, so about 10 MB for 1,000,000 keys and 100 MB for
 * 10,000,000, where two different keys meet with a chance of 1 in 5,000. So a hit is a suspicion to be proven, never a proof.
 * The table is 1,024 small ones: none takes long to grow, and their growth needs no second copy of the whole.
 */
export class KeySet {
  readonly #shards: (Shard | undefined)[] = [];
  /** Nobody can prepare keys that meet. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32);

  /** False when the key, or very rarely another one, was added before. */
  add(key: string): boolean {
    let a = 0xdeadbeef ^ this.#seed;
    let b = 0x41c6ce57 ^ this.#seed;
    for (let i = 0; i < key.length; i++) {
      const code = key.charCodeAt(i);
      a = Math.imul(a ^ code, 2_654_435_761);
      b = Math.imul(b ^ code, 1_597_334_677);
    }
    a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
    b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
    const shard = (this.#shards[(a >>> 0) % SHARDS] ??= new Shard());
    return shard.add(b >>> 0 || 1, a >>> 16);
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
