import { createHash } from 'node:crypto';

/** Mulberry32: the same seed gives the same choices everywhere. */
export class SeededRandom {
  private state: number;

  /** Each purpose has choices of its own: one that draws more or less changes nothing for the others. */
  constructor(seed: number, purpose: string) {
    this.state = createHash('sha256').update(`${seed} ${purpose}`).digest().readUInt32LE();
  }

  /** 0 ≤ x < 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** Both ends may come. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.integer(0, choices.length - 1)] ?? choices[0];
  }

  /** One by weight; `undefined` for what the weights leave of 1. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K | undefined {
    let left = this.next();
    for (const [key, weight] of Object.entries(weights) as [K, number][]) {
      left -= weight;
      if (left < 0) return key;
    }
    return undefined;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const sorted = items.map((item) => ({ item, order: this.next() })).sort((a, b) => a.order - b.order);
    return sorted.map(({ item }) => item);
  }
}
