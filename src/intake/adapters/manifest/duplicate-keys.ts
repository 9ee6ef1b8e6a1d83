import type { ExpansionTurn } from '../../application/expansion-turns.js';
import { contentOf, ownKeys, type ManifestProblem, type ManifestTask } from '../../domain/manifest-task.js';
import type { KeyFrom } from '../../domain/source-url.js';
import { shortened } from './column-names.js';
import type { KeyHashes } from './key-hashes.js';
import type { KeyHash } from './key-set.js';
import { placeOf, type ManifestRow } from './manifest-row.js';
import { RepeatedTasks } from './repeated-tasks.js';

/**
 * As many as are reported. That all of them are false while a later one is not does not happen: see
 * KeySet.
 */
const MAX_SUSPECTS = 20;

interface Suspect {
  /** How often the first reading met the hash with another content than at first, and how often the second one did; the first time counts, too. */
  times: number;
  metAgain: number;
  /** The keys of this hash: where each was met first, and with which content. */
  places: Map<string, { place: string; content: string }>;
}

/**
 * Finds keys that are given twice. A file that is there twice, word for word, is one file, and left out.
 * Of others the hashes of the first reading of the manifest raise suspicions, a second reading proves
 * them by the keys.
 */
export class DuplicateKeys {
  readonly #suspects = new Map<string, Suspect>();
  readonly #proven: ManifestProblem[] = [];
  #provenCount = 0;
  #unnamedCount = 0;
  /** After `suspect`. */
  readonly repeatedTasks = new RepeatedTasks();

  constructor(
    private readonly hashes: Pick<KeyHashes, 'of' | 'add' | 'keep' | 'repeated'>,
    private readonly keyFrom?: KeyFrom,
  ) {}

  /** First reading. */
  note(task: ManifestTask): void {
    this.hashes.add(this.hashes.of(task.key), this.hashes.of(contentOf(task)));
  }

  /** First reading, between two chunks. */
  keep(): Promise<void> {
    return this.hashes.keep();
  }

  /** After the first reading. */
  async suspect(turn: Pick<ExpansionTurn, 'yield'>): Promise<void> {
    for await (const { hash, ordinal, repeat } of this.hashes.repeated(turn)) {
      const known = this.#suspects.get(nameOf(hash));
      if (repeat === 'same') this.repeatedTasks.add(ordinal);
      else if (known !== undefined) known.times++;
      else if (this.#suspects.size < MAX_SUSPECTS) this.#suspects.set(nameOf(hash), { times: 2, metAgain: 0, places: new Map() });
      else this.#unnamedCount++;
    }
  }

  get suspected(): boolean {
    return this.#suspects.size > 0;
  }

  /** Second reading. */
  prove(task: ManifestTask, row: ManifestRow): void {
    const suspect = this.#suspects.get(nameOf(this.hashes.of(task.key)));
    if (suspect === undefined) return;
    const first = suspect.places.get(task.key);
    const content = contentOf(task);
    if (first?.content === content) return;
    suspect.metAgain++;
    if (first === undefined) {
      suspect.places.set(task.key, { place: placeOf(row), content });
      return;
    }
    this.#provenCount++;
    if (this.#proven.length < MAX_SUSPECTS) this.#proven.push({ line: row.line, reason: this.#reasonFor(task.key, row, first.place) });
  }

  /** After the second reading: `changed` when it was of another manifest. */
  get verdict(): { kind: 'changed' } | { kind: 'read'; problems: readonly ManifestProblem[]; total: number } {
    for (const { times, metAgain } of this.#suspects.values()) if (metAgain !== times) return { kind: 'changed' };
    return { kind: 'read', problems: this.#proven, total: this.#provenCount + this.#unnamedCount };
  }

  #reasonFor(key: string, row: ManifestRow, firstIn: string): string {
    const given = 'entry' in row ? row.entry.key : undefined;
    const place = row.element === undefined ? '' : `${placeOf(row)}: `;
    const whose = typeof given === 'string' ? '' : ' (from the URL)';
    return `${place}key ${JSON.stringify(shortened(key))}${whose} is also that of ${firstIn}: ${ownKeys(given, { keyFrom: this.keyFrom })}`;
  }
}

function nameOf({ high, low }: KeyHash): string {
  return `${high}/${low}`;
}
