import type { ManifestProblem } from '../../domain/manifest-task.js';
import { KeySet } from './key-set.js';
import { placeOf, type ManifestRow } from './manifest-row.js';

/** As many as are reported. That all of them are false while a later one is not does not happen: see KeySet. */
const MAX_SUSPECTS = 20;

interface Suspect {
  /** Where its hash was met again. */
  suspectedIn: string;
  firstIn?: string;
  /** The second reading found the key where the first one did. */
  confirmed: boolean;
}

/** Finds keys that are given twice: the first reading of the manifest raises suspicions by hash, a second one proves them by the keys. */
export class DuplicateKeys {
  readonly #seen: Pick<KeySet, 'add'>;
  readonly #suspects = new Map<string, Suspect>();
  readonly #proven: ManifestProblem[] = [];
  #provenCount = 0;
  #unnamedCount = 0;

  constructor(seen: Pick<KeySet, 'add'> = new KeySet()) {
    this.#seen = seen;
  }

  /** First reading. */
  note(key: string, row: ManifestRow): void {
    if (this.#seen.add(key) || this.#suspects.has(key)) return;
    if (this.#suspects.size < MAX_SUSPECTS) this.#suspects.set(key, { suspectedIn: placeOf(row), confirmed: false });
    else this.#unnamedCount++;
  }

  get suspected(): boolean {
    return this.#suspects.size > 0;
  }

  /** Second reading. */
  prove(key: string, row: ManifestRow): void {
    const suspect = this.#suspects.get(key);
    if (suspect === undefined) return;
    const place = placeOf(row);
    suspect.confirmed ||= place === suspect.suspectedIn;
    if (suspect.firstIn === undefined) {
      suspect.firstIn = place;
      return;
    }
    this.#provenCount++;
    if (this.#proven.length < MAX_SUSPECTS)
      this.#proven.push({
        line: row.line,
        reason: `${row.element === undefined ? '' : `${place}: `}key is also that of ${suspect.firstIn}: give each file a key of its own (without one it is the URL's file name)`,
      });
  }

  /** After the second reading: `changed` when it was of another manifest. */
  get verdict(): { kind: 'changed' } | { kind: 'read'; problems: readonly ManifestProblem[]; total: number } {
    for (const { confirmed } of this.#suspects.values()) if (!confirmed) return { kind: 'changed' };
    return { kind: 'read', problems: this.#proven, total: this.#provenCount + this.#unnamedCount };
  }
}
