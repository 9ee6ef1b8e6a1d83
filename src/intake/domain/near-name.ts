/** So many changes are a slip of the fingers in a long name, one is in a short one: `user` is not `userId`. */
const LONG_NAME = 8;

/** The one of `known` that a name was probably meant to be; `undefined` for one of them, and for a name of its own. */
export function nearNameOf(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name)) return undefined;
  const plain = plainOf(name);
  return known.find((candidate) => {
    const allowed = candidate.length >= LONG_NAME ? 2 : 1;
    return Math.abs(plain.length - candidate.length) <= allowed && changesBetween(plain, plainOf(candidate)) <= allowed;
  });
}

/** Other spellings of the same words: `job_id`, `JobID`. */
function plainOf(name: string): string {
  return name.replaceAll(/[-_ ]/g, '').toLowerCase();
}

/** Letters that were left out, added or replaced, and neighbours that were exchanged (the distance of Damerau and Levenshtein). */
function changesBetween(a: string, b: string): number {
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isExchanged ? Math.min(least, (beforeLast[j - 2] ?? 0) + 1) : least);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
