interface Failure {
  key: string;
  code: string;
  message: string | null;
}

/**
 * Failed files for people, one a line.
 * @param total how many there are, of which these are the first
 */
export function failureLines(first: readonly Failure[], total: number): string[] {
  const lines = first.map(({ key, code, message }) => `  ${key}  ${code}  ${(message ?? '').replaceAll(/\s+/g, ' ')}`.trimEnd());
  return total > first.length ? [...lines, `  … and ${total - first.length} more`] : lines;
}
