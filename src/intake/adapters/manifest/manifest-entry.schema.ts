import { z } from 'zod';
import type { ManifestEntry } from '../../domain/manifest-task.js';
import { plainName, shortened } from './column-names.js';
import type { ManifestRow } from './manifest-row.js';

/** An object, or the value alone when that names its algorithm (`sha256:…`). */
const checksum = z.preprocess(
  (given) => (typeof given === 'string' ? { value: given } : given),
  z.strictObject({ algorithm: z.string().nullish(), value: z.string() }).nullish(),
);

/**
 * One file in a message or a line of a JSON manifest; `null` is absent. Only the shape: the rules of keys, URLs and checksums are the domain's.
 * Unknown keys are refused: a misspelt `checksum` would otherwise be a file that nobody verifies.
 */
export const manifestEntrySchema = z.strictObject({
  url: z.string(),
  key: z.string().nullish(),
  size: z.number().nullish(),
  checksum,
  headers: z.record(z.string(), z.string()).nullish(),
}) satisfies z.ZodType<ManifestEntry>;

const OWN_NAMES: ReadonlySet<string> = new Set(Object.keys(manifestEntrySchema.shape));
const FOREIGN_NAMES = 'correct or remove them, or name them in ignoreColumns (--ignore-columns)';

/**
 * A value out of a JSON manifest as a row.
 * @param ignored plain names of keys that are left unread
 */
export function rowOf(line: number, value: unknown, ignored: ReadonlySet<string>): ManifestRow {
  const parsed = manifestEntrySchema.safeParse(withOwnNames(value, ignored), { reportInput: true });
  if (parsed.success) return { line, entry: parsed.data };
  return { line, problem: parsed.error.issues.map((issue) => describeIssue(issue, 'the entry', FOREIGN_NAMES)).join('; ') };
}

/** `URL` is `url`, as in CSV, unless both are there: then it is unknown. */
function withOwnNames(value: unknown, ignored: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (ignored.size === 0 && Object.keys(value).every((name) => OWN_NAMES.has(name))) return value;
  const fields = new Map<string, unknown>();
  for (const [name, field] of Object.entries(value)) {
    const plain = plainName(name);
    if (ignored.has(plain)) continue;
    fields.set(OWN_NAMES.has(plain) && !Object.hasOwn(value, plain) && !fields.has(plain) ? plain : name, field);
  }
  return Object.fromEntries(fields);
}

/**
 * An issue as `path reason`: names and expectations, never a value that was sent. `whole` names what has no path, `mend` tells what to do
 * with names at its top that are not ours.
 */
export function describeIssue(issue: z.core.$ZodIssue, whole: string, mend = 'correct or remove them'): string {
  const path = issue.path.reduce<string>((so, part) => {
    if (typeof part === 'number') return `${so}[${part}]`;
    return so === '' ? shortened(String(part)) : `${so}.${shortened(String(part))}`;
  }, '');
  if (issue.code === 'unrecognized_keys')
    return `${path || whole} has unknown keys (${issue.keys.slice(0, 5).map(shortened).join(', ')}): ${path === '' ? mend : 'correct or remove them'}`;
  return `${path || whole} ${reasonOf(issue)}`;
}

/** Types as a person calls them. */
const EXPECTED: Readonly<Record<string, string>> = { object: 'an object like {"url": "https://…"}', record: 'an object' };

function reasonOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `is missing: add it (${issue.expected})`
        : `has the wrong type: it must be ${EXPECTED[issue.expected] ?? `of type ${issue.expected}`}`;
    default:
      return issue.message;
  }
}
