import { printable, withoutMiddle } from './terminal-text.js';
import { wrapped } from './wrapped.js';

interface Failure {
  key: string;
  code: string;
  message: string | null;
}

export interface FailureGroup {
  code: string;
  count: number;
  /** The first of them. */
  samples: Failure[];
}

const SAMPLES = 3;

/** Failures by their reason, the most frequent first, with the first files of each. */
export async function groupFailures(failures: AsyncIterable<Failure> | Iterable<Failure>): Promise<FailureGroup[]> {
  const groups = new Map<string, FailureGroup>();
  for await (const failure of failures) {
    const group = groups.get(failure.code) ?? { code: failure.code, count: 0, samples: [] };
    groups.set(failure.code, group);
    group.count++;
    if (group.samples.length < SAMPLES) group.samples.push(failure);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

export interface FailureLinesOptions {
  /** How many there are, in case that not all were looked at. */
  total: number;
  /** Left out of the keys. */
  prefix: string;
  /** Which the lines keep to. */
  width: number;
}

/** Failed files for people, by their reason. */
export function failureLines(groups: readonly FailureGroup[], { total, prefix, width }: FailureLinesOptions): string[] {
  const nameOf = (key: string) => withoutMiddle(printable(key.startsWith(prefix) ? key.slice(prefix.length) : key), width - 6);
  const lines = groups.flatMap(({ code, count, samples }) => {
    const [first] = samples;
    const so = samples.every(({ message }) => message === first?.message) ? ': ' : ', for example: ';
    return [
      wrapped(`  ${count} × ${code}${first?.message ? `${so}${printable(first.message.replaceAll(/\s+/g, ' ').trim())}` : ''}`, width),
      ...samples.map(({ key }) => `      ${nameOf(key)}`),
      ...(count > samples.length ? [`      … and ${count - samples.length} more`] : []),
    ];
  });
  const seen = groups.reduce((sum, { count }) => sum + count, 0);
  return total > seen ? [...lines, `  … and ${total - seen} more, not looked at`] : lines;
}
