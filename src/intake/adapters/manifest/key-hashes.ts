import { appendFile, open } from 'node:fs/promises';
import type { ExpansionTurn } from '../../application/expansion-turns.js';
import { KeySet, SHARD_BITS, type KeyHash } from './key-set.js';

/** Looked up once: a look-up of a global for each character takes microseconds in the context of a test. */
const { imul } = Math;

/** Of a task: 8 of its key, 8 of its content. */
export const HASH_BYTES = 16;
/** Held in memory before they go to the file: those of 16,384 tasks. */
const BLOCK_BYTES = 2_048 * HASH_BYTES;
const MAX_BLOCKS = 8;
/** Compared at a time, in about 10 MB of memory, however long the list is. */
const HASHES_A_PASS = 500_000;

export interface RepeatedKey {
  hash: KeyHash;
  /** Of the task, in the order in which they were added: 0 for the first. */
  ordinal: number;
  repeat: 'same' | 'other';
}

/**
 * The hashes of a list's keys and of the content that each came with: 16 bytes a task, in memory up
 * to 256 KiB and in a file beyond that. They are kept there while the list is read, because many
 * lists are open at once and each may take its time: a set in memory would be 200 MB for a list of
 * ten million. Once the list has been read, and waits for nobody any more, they are compared, half a
 * million at a time.
 */
export class KeyHashes {
  private blocks: Buffer[] = [];
  private usedOfLast = 0;
  private count = 0;
  private isFileThere = false;
  /** Nobody can prepare texts that meet. */
  private readonly seed = Math.floor(Math.random() * 2 ** 32);

  /** @param path the file, made once it is needed; its owner removes it */
  constructor(
    private readonly path: string,
    private readonly hashesAPass = HASHES_A_PASS,
  ) {}

  of(text: string): KeyHash {
    let a = 0xdeadbeef ^ this.seed;
    let b = 0x41c6ce57 ^ this.seed;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = imul(a ^ code, 2_654_435_761);
      b = imul(b ^ code, 1_597_334_677);
    }
    a = imul(a ^ (a >>> 16), 2_246_822_507) ^ imul(b ^ (b >>> 13), 3_266_489_909);
    b = imul(b ^ (b >>> 16), 2_246_822_507) ^ imul(a ^ (a >>> 13), 3_266_489_909);
    return { high: b >>> 0, low: a >>> 0 };
  }

  add(key: KeyHash, content: KeyHash): void {
    let block = this.blocks.at(-1);
    if (block === undefined || this.usedOfLast === BLOCK_BYTES) {
      block = Buffer.allocUnsafe(BLOCK_BYTES);
      this.blocks.push(block);
      this.usedOfLast = 0;
    }
    block.writeUInt32LE(key.high, this.usedOfLast);
    block.writeUInt32LE(key.low, this.usedOfLast + 4);
    block.writeUInt32LE(content.high, this.usedOfLast + 8);
    block.writeUInt32LE(content.low, this.usedOfLast + 12);
    this.usedOfLast += HASH_BYTES;
    this.count++;
  }

  /** To be called now and then between adds. */
  async keep(): Promise<void> {
    if (this.blocks.length < MAX_BLOCKS) return;
    await appendFile(this.path, Buffer.concat([...this.held()]));
    this.isFileThere = true;
    this.blocks = [];
    this.usedOfLast = 0;
  }

  /** Each task whose key was added before, as often as that happens. A pass over all of them is a unit of work. */
  async *repeated(turn: Pick<ExpansionTurn, 'yield'>): AsyncGenerator<RepeatedKey> {
    const passes = Math.ceil(this.count / this.hashesAPass);
    for (let pass = 0; pass < passes; pass++) {
      const seen = new KeySet();
      let ordinal = 0;
      for await (const block of this.all())
        for (let at = 0; at < block.length; at += HASH_BYTES, ordinal++) {
          if ((block.readUInt32LE(at + 4) >>> SHARD_BITS) % passes !== pass) continue;
          const hash = hashAt(block, at);
          const repeat = seen.add(hash, hashAt(block, at + 8));
          if (repeat !== 'new') yield { hash, ordinal, repeat };
        }
      await turn.yield();
    }
  }

  private async *all(): AsyncGenerator<Buffer> {
    if (this.isFileThere) yield* this.ofFile();
    yield* this.held();
  }

  private async *ofFile(): AsyncGenerator<Buffer> {
    const file = await open(this.path);
    try {
      for (let position = 0; ;) {
        const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(BLOCK_BYTES * MAX_BLOCKS), position });
        const whole = bytesRead - (bytesRead % HASH_BYTES);
        if (whole === 0) return;
        yield buffer.subarray(0, whole);
        position += whole;
      }
    } finally {
      await file.close();
    }
  }

  private *held(): Generator<Buffer> {
    for (const [index, block] of this.blocks.entries()) yield index === this.blocks.length - 1 ? block.subarray(0, this.usedOfLast) : block;
  }
}

function hashAt(block: Buffer, at: number): KeyHash {
  return { high: block.readUInt32LE(at), low: block.readUInt32LE(at + 4) };
}
