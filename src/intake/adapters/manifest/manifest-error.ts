import { AppError, counted } from '../../../shared/index.js';
import type { ManifestProblem } from '../../domain/manifest-task.js';

const MAX_PROBLEMS = 20;

/** The sender's manifest is at fault. Code `INVALID_MANIFEST`, disposition `reject`. */
export class ManifestError extends AppError {
  /** The first 20, by line. */
  readonly problems: readonly ManifestProblem[];
  /** How many in all, as far as the manifest could be read. */
  readonly total: number;

  constructor(problems: readonly ManifestProblem[], total: number) {
    super('INVALID_MANIFEST', `The manifest has ${counted(total, 'problem')}`, { disposition: 'reject' });
    this.name = 'ManifestError';
    this.problems = problems;
    this.total = total;
  }
}

/** Counts every problem and keeps the first ones, by line; what is said of a line twice counts once. */
export class ProblemList {
  readonly #kept: ManifestProblem[] = [];
  #total = 0;

  get isEmpty(): boolean {
    return this.#total === 0;
  }

  add(line: number, reason: string): void {
    if (this.#kept.some((kept) => kept.line === line && kept.reason === reason)) return;
    this.merge([{ line, reason }], 1);
  }

  /** Puts `problems`, `total` in all, beside those already kept. */
  merge(problems: readonly ManifestProblem[], total: number): void {
    this.#total += total;
    this.#kept.push(...problems);
    this.#kept.sort((a, b) => a.line - b.line).splice(MAX_PROBLEMS);
  }

  throwIfAny(): void {
    if (!this.isEmpty) throw new ManifestError(this.#kept, this.#total);
  }
}
