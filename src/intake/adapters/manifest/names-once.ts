import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { shortened } from './column-names.js';

/** Whether an object of JSON has a name twice: what is read of it has only the last, so that a file would silently get another URL or key. */
export class NamesOnce {
  readonly #open: Set<string>[] = [];
  #twice: string | undefined;

  see(token: Token): void {
    if (token.name === 'startObject') this.#open.push(new Set());
    else if (token.name === 'endObject') this.#open.pop();
    else if (token.name === 'keyValue') {
      const names = this.#open.at(-1);
      if (names?.has(token.value) === true) this.#twice ??= token.value;
      names?.add(token.value);
    }
  }

  /** What is wrong with what has been seen since this was asked last. */
  takeProblem(): string | undefined {
    const name = this.#twice;
    this.#twice = undefined;
    return name === undefined ? undefined : `the entry has "${shortened(name)}" twice: keep one of them`;
  }
}

const ENDS_OF_NAMES = /"\s*:/g;

/**
 * The same of one value.
 * @param text JSON that has been read as `value`
 */
export function nameTwice(text: string, value: unknown): string | undefined {
  // Every name ends like this. A text may hold the same characters, so only then the slower parser decides.
  if ((text.match(ENDS_OF_NAMES)?.length ?? 0) === namesIn(value)) return undefined;
  const names = new NamesOnce();
  const tokens = jsonParser({ packValues: true, streamValues: false })(text);
  if (typeof tokens === 'object' && 'values' in tokens) for (const token of tokens.values) names.see(token);
  return names.takeProblem();
}

function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const field of Object.values(value)) count += namesIn(field);
  return count;
}
