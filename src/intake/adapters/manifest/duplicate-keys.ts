import type { ExpansionTurn } from '../../application/expansion-turns.js';
import type { ManifestProblem } from '../../domain/manifest-task.js';
import type { KeyHashes } from './key-hashes.js';
import type { KeyHash } from './key-set.js';
import { placeOf, type ManifestRow } from './manifest-row.js';

/**
 * As many as are reported. That all of them are false while a later one is not does not happen: see
 * KeySet.
 */
const MAX_SUSPECTS = 20;

interface Suspect {
  /** How often the first reading met the hash, and how often the second one did. */
  times: number;
  metAgain: number;
  /** The keys of this hash, and where each was met first. */
  places: Map<string, string>;
}

/**
 * Finds keys that are given twice: the hashes of the first reading of the manifest raise
 * suspicions, a second reading proves them by the keys.
 */
export class DuplicateKeys {
  readonly #suspects = new Map<string, Suspect>();
  readonly #proven: ManifestProblem[] = [];
  #provenCount = 0;
  #unnamedCount = 0;

  constructor(private readonly hashes: Pick<KeyHashes, 'of' | 'add' | 'keep' | 'repeated'>) {}

  /** First reading. */
  note(key: string): void {
    this.hashes.add(this.hashes.of(key));
  }

  /** First reading, between two chunks. */
  keep(): Promise<void> {
    return this.hashes.keep();
  }

  /** After the first reading. */
  async suspect(turn: Pick<ExpansionTurn, 'yield'>): Promise<void> {
    for await (const hash of this.hashes.repeated(turn)) {
      const known = this.#suspects.get(nameOf(hash));
      if (known !== undefined) known.times++;
      else if (this.#suspects.size < MAX_SUSPECTS) this.#suspects.set(nameOf(hash), { times: 2, metAgain: 0, places: new Map() });
      else this.#unnamedCount++;
    }
  }

  get suspected(): boolean {
    return this.#suspects.size > 0;
  }

  /** Second reading. */
  prove(key: string, row: ManifestRow): void {
    const suspect = this.#suspects.get(nameOf(this.hashes.of(key)));
    if (suspect === undefined) return;
    suspect.metAgain++;
    const place = placeOf(row);
    const firstIn = suspect.places.get(key);
    if (firstIn === undefined) {
      suspect.places.set(key, place);
      return;
    }
    this.#provenCount++;
    if (this.#proven.length < MAX_SUSPECTS)
      this.#proven.push({
        line: row.line,
        reason: `${row.element === undefined ? '' : `${place}: `}key is also that of ${firstIn}: give each file a key of its own (without one it is the URL's file name)`,
      });
  }

  /** After the second reading: `changed` when it was of another manifest. */
  get verdict(): { kind: 'changed' } | { kind: 'read'; problems: readonly ManifestProblem[]; total: number } {
    for (const { times, metAgain } of this.#suspects.values()) if (metAgain !== times) return { kind: 'changed' };
    return { kind: 'read', problems: this.#proven, total: this.#provenCount + this.#unnamedCount };
  }
}

function nameOf({ high, low }: KeyHash): string {
  return `${high}/${low}`;
}
