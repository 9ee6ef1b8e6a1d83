import { z } from 'zod';
import { jsonOf } from '../../platform/sqs/index.js';
import { JOB_ID } from '../../shared/index.js';
import { MANIFEST_FORMATS } from '../domain/export-request.js';
import { defaultPrefix, prefixProblem, utf8Bytes } from '../domain/object-key.js';
import { contentOf, ownKeys, toManifestTask, type ManifestTask, type Naming } from '../domain/manifest-task.js';
import { nearNameOf } from '../domain/near-name.js';
import { headersProblem } from '../domain/request-headers.js';
import { KEYS_FROM, sourceUrlProblem } from '../domain/source-url.js';
import { shortened } from './manifest/column-names.js';
import { describeIssue, manifestEntrySchema } from './manifest/manifest-entry.schema.js';

const MAX_BODY_BYTES = 1_048_576;
const MAX_METADATA_BYTES = 4_096;
const MAX_REASONS = 20;

const text = (max: number) =>
  z
    .string()
    .min(1, { error: 'is empty: give a value' })
    .max(max, { error: `is over ${max} characters: shorten it` });

const checked = (problemOf: (value: string) => string | undefined) =>
  z.string().superRefine((value, context) => addProblem(context, problemOf(value)));

const jobId = z.string().regex(JOB_ID, { error: "must be 1 to 128 of A-Z a-z 0-9 . _ + ! @ = ' ( ) -, and not . or .." });

const taskToken = text(2_048);

const source = z
  .strictObject({
    files: z.array(manifestEntrySchema).optional(),
    manifest: checked(sourceUrlProblem).optional(),
    format: z.enum(MANIFEST_FORMATS, { error: `must be one of ${MANIFEST_FORMATS.join(', ')}` }).optional(),
    keyFrom: z.enum(KEYS_FROM, { error: `must be one of ${KEYS_FROM.join(', ')}` }).optional(),
    ignoreColumns: z.array(text(1_024)).max(1_000, { error: 'has over 1000 names: remove the columns from the list' }).optional(),
    allowEmpty: z.boolean().optional(),
  })
  .superRefine(({ files, manifest, format, keyFrom, ignoreColumns, allowEmpty }, context) => {
    const given = [files, manifest].filter((value) => value !== undefined).length;
    // The list may lie where this service's template says, and only how it is read be told.
    const readingOnly = [format, keyFrom, ignoreColumns, allowEmpty].some((value) => value !== undefined);
    if (given === 2 || (given === 0 && !readingOnly)) addProblem(context, 'needs one of files and manifest: give exactly one');
    if (files === undefined) return;
    if (format !== undefined) addProblem(context, 'has a format without a manifest: leave it out');
    if (ignoreColumns !== undefined) addProblem(context, 'has ignoreColumns without a manifest: leave it out');
    if (files.length === 0 && allowEmpty !== true)
      addProblem(context, 'has no file: give some, or say that this is in order (allowEmpty: true)');
  });

const destination = z.strictObject({
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, { error: 'is no bucket name: 3 to 63 lower-case letters, digits, dots and hyphens' })
    .optional(),
  prefix: checked(prefixProblem).optional(),
});

const options = z.strictObject({
  toleratedFailureCount: z.int({ error: 'must be a whole number' }).min(0, { error: 'must not be negative' }).optional(),
  toleratedFailurePercentage: z.number().min(0, { error: 'must be 0 to 100' }).max(100, { error: 'must be 0 to 100' }).optional(),
  failFast: z.boolean().optional(),
  headers: z
    .record(z.string(), z.string())
    .superRefine((value, context) => addProblem(context, headersProblem(value)))
    .optional(),
  expectContentType: z
    .string()
    .max(255, { error: 'is over 255 characters: shorten it' })
    .regex(/^[\w.+-]+\/[\w.+-]+$/, { error: 'is no media type: give one like application/pdf' })
    .optional(),
  maxConcurrency: z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }).optional(),
});

const metadata = z.record(z.string(), z.unknown()).refine((value) => jsonBytes(value) <= MAX_METADATA_BYTES, {
  error: `is over ${MAX_METADATA_BYTES} bytes of JSON: keep a pointer instead`,
});

/** The message as it was sent, no defaults filled in: they are not part of the request. */
export const exportJobMessageSchema = z.object({
  jobId,
  exportId: text(1_024),
  userId: text(1_024),
  taskToken: taskToken.optional(),
  source: source.optional(),
  destination: destination.optional(),
  options: options.optional(),
  metadata: metadata.optional(),
});

export type ExportJobMessage = z.infer<typeof exportJobMessageSchema>;

export type ParsedExportJobMessage =
  | {
      kind: 'ok';
      message: ExportJobMessage;
      /** `source.files` checked and complete; absent when the message has none. */
      files?: ManifestTask[];
    }
  | {
      kind: 'unusable';
      /** Each names where, what and how to mend it, and shows no token, header or URL; the first 20. */
      reasons: string[];
      jobId?: string;
      taskToken?: string;
    };

/** Reads the body of a message of the jobs queue. Never throws. */
export function parseExportJobMessage(body: string): ParsedExportJobMessage {
  if (utf8Bytes(body) > MAX_BODY_BYTES)
    return { kind: 'unusable', reasons: [`the body is over ${MAX_BODY_BYTES} bytes: put the files into a manifest in S3`] };
  let json: unknown;
  try {
    json = jsonOf(body);
  } catch {
    return { kind: 'unusable', reasons: ['the body is not JSON: send one JSON object'] };
  }
  const parsed = exportJobMessageSchema.safeParse(json, { reportInput: true });
  if (!parsed.success)
    return unusable(json, [...parsed.error.issues.map((issue) => describeIssue(issue, 'the message')), ...misspelt(json)]);
  const typos = misspelt(json);
  if (typos.length > 0) return unusable(json, typos);
  const message = parsed.data;
  if (message.source?.files === undefined) return { kind: 'ok', message };
  const { files, keyFrom } = message.source;
  const { tasks, reasons } = checkFiles(files, { prefix: message.destination?.prefix ?? defaultPrefix(message.jobId), keyFrom });
  return reasons.length === 0 ? { kind: 'ok', message, files: tasks } : unusable(json, reasons);
}

/**
 * What a newer sender knows is ignored at the top, but a typo must not pass: a `destinaton` would send the export elsewhere. A field of
 * ours that is there was not misspelt.
 */
function misspelt(json: unknown): string[] {
  if (typeof json !== 'object' || json === null) return [];
  const known = Object.keys(exportJobMessageSchema.shape);
  const absent = known.filter((name) => !Object.hasOwn(json, name));
  return Object.keys(json).flatMap((name) => {
    const meant = known.includes(name) ? undefined : nearNameOf(name, absent);
    return meant === undefined ? [] : [`${shortened(name)} is no field of a message: is it meant to be ${meant}? Correct or remove it`];
  });
}

/** A file that is there twice, word for word, is one. */
function checkFiles(files: readonly z.infer<typeof manifestEntrySchema>[], naming: Naming): { tasks: ManifestTask[]; reasons: string[] } {
  const tasks: ManifestTask[] = [];
  const reasons: string[] = [];
  const firstOfKey = new Map<string, { index: number; content: string }>();
  for (const [index, file] of files.entries()) {
    const outcome = toManifestTask(file, naming);
    if (outcome.kind === 'problem') {
      reasons.push(`source.files[${index}].${outcome.field} ${outcome.reason}`);
      continue;
    }
    const { task } = outcome;
    const content = contentOf(task);
    const first = firstOfKey.get(task.key);
    if (first === undefined) {
      firstOfKey.set(task.key, { index, content });
      tasks.push(task);
    } else if (first.content !== content)
      reasons.push(`source.files[${index}].key is also the key of source.files[${first.index}]: ${ownKeys(file.key, naming)}`);
  }
  return { tasks, reasons };
}

function unusable(json: unknown, reasons: string[]): ParsedExportJobMessage {
  const readable = z.object({ jobId: jobId.optional().catch(undefined), taskToken: taskToken.optional().catch(undefined) }).safeParse(json);
  return {
    kind: 'unusable',
    reasons: reasons.slice(0, MAX_REASONS),
    ...(readable.data?.jobId === undefined ? {} : { jobId: readable.data.jobId }),
    ...(readable.data?.taskToken === undefined ? {} : { taskToken: readable.data.taskToken }),
  };
}

function jsonBytes(value: unknown): number {
  try {
    return utf8Bytes(JSON.stringify(value));
  } catch {
    return Infinity; // nested deeper than the stack allows
  }
}

function addProblem(context: z.RefinementCtx, problem: string | undefined): void {
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
}
