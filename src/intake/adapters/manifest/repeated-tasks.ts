/** Which tasks of a list were there before, word for word, by their ordinal: a bit a task, once there is one. */
export class RepeatedTasks {
  #bits = new Uint8Array(0);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Each once. */
  add(ordinal: number): void {
    const byte = ordinal >>> 3;
    if (byte >= this.#bits.length) {
      const bits = new Uint8Array(2 * byte + 1);
      bits.set(this.#bits);
      this.#bits = bits;
    }
    this.#bits[byte] = (this.#bits[byte] ?? 0) | (1 << (ordinal & 7));
    this.#count++;
  }

  has(ordinal: number): boolean {
    return ((this.#bits[ordinal >>> 3] ?? 0) & (1 << (ordinal & 7))) !== 0;
  }
}
