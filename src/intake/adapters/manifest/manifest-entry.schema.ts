import { z } from 'zod';
import { CHECKSUM_ALGORITHMS } from '../../../shared/index.js';
import type { ManifestEntry } from '../../domain/manifest-task.js';
import type { ManifestRow } from './manifest-row.js';

const algorithm = z.enum(CHECKSUM_ALGORITHMS, { error: `must be one of ${CHECKSUM_ALGORITHMS.join(', ')}` });

/**
 * One file in a message or a line of a JSON manifest. Only the shape: the rules of keys, URLs and checksums are the domain's.
 * Unknown keys are refused: a misspelt `checksum` would otherwise be a file that nobody verifies.
 */
export const manifestEntrySchema = z.strictObject({
  url: z.string(),
  key: z.string().optional(),
  size: z.number().optional(),
  checksum: z.strictObject({ algorithm, value: z.string() }).optional(),
  headers: z.record(z.string(), z.string()).optional(),
}) satisfies z.ZodType<ManifestEntry>;

/** A value out of a JSON manifest as a row. */
export function rowOf(line: number, value: unknown): ManifestRow {
  const parsed = manifestEntrySchema.safeParse(value, { reportInput: true });
  if (parsed.success) return { line, entry: parsed.data };
  return { line, problem: parsed.error.issues.map((issue) => describeIssue(issue, 'the entry')).join('; ') };
}

const MAX_SHOWN_NAME = 60;

/** An issue as `path reason`: names and expectations, never a value that was sent. `whole` names what has no path. */
export function describeIssue(issue: z.core.$ZodIssue, whole: string): string {
  const path = issue.path.reduce<string>((so, part) => {
    if (typeof part === 'number') return `${so}[${part}]`;
    return so === '' ? shortened(String(part)) : `${so}.${shortened(String(part))}`;
  }, '');
  return `${path === '' ? whole : path} ${reasonOf(issue)}`;
}

/** Types as a person calls them. */
const EXPECTED: Readonly<Record<string, string>> = { object: 'an object like {"url": "https://…"}', record: 'an object' };

function reasonOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `is missing: add it (${issue.expected})`
        : `has the wrong type: it must be ${EXPECTED[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'unrecognized_keys':
      return `has unknown keys (${issue.keys.slice(0, 5).map(shortened).join(', ')}): correct or remove them`;
    default:
      return issue.message;
  }
}

/** A name that was sent, to be shown. */
export function shortened(name: string): string {
  return name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
}
