import { InvalidArgumentError, type Command } from 'commander';
import { parseExportJobMessage, type ListReading } from '../intake/index.js';
import { listReadingOf } from './list-reading.js';

export interface SubmitOptions extends ListReading {
  exportId?: string;
  userId: string;
  bucket?: string;
  prefix?: string;
  toleratedFailureCount?: number;
  toleratedFailurePercentage?: number;
  failFast?: true;
  header?: Record<string, string>;
  expectContentType?: string;
  maxConcurrency?: number;
  metadata?: Record<string, unknown>;
  name?: string;
  dryRun?: true;
  wait?: true;
  quiet?: true;
  json?: true;
}

export function addSubmitOptions(command: Command): Command {
  return command
    .option('--export-id <id>', "yours; default: the job's id")
    .option('--user-id <id>', 'whose export it is', 'cli')
    .option('--bucket <bucket>', 'where the files go; default: EXPORT_BUCKET')
    .option('--prefix <prefix>', 'where in the bucket, ends with /; default: exports/<job id>/')
    .option('--tolerated-failure-count <n>', 'succeed with so many failed files', wholeNumber)
    .option('--tolerated-failure-percentage <p>', 'succeed with such a share of failed files', percentage)
    .option('--fail-fast', 'end the job as soon as more files have failed than tolerated')
    .option('--header <name: value>', "sent with every file's request, may be repeated; Step Functions' history shows it", header)
    .option('--expect-content-type <type>', 'fail files of another type, like application/pdf')
    .option('--max-concurrency <n>', 'at most so many files of the job at once, in each coordinator', wholeNumber)
    .option('--metadata <json>', 'comes back in the result, like {"tenant":"a"}', jsonObject)
    .option('--name <name>', "the execution's name and the job's id; default: a random one")
    .option('--dry-run', 'only check the list and the options; nothing is sent')
    .option('--wait', 'follow the job; exit code 0 when its execution succeeds')
    .option('-q, --quiet', "print the job's id only")
    .option('--json', 'one JSON object');
}

/** The input of the shipped state machine; what the options leave out is the service's to decide. */
export function executionInput(jobId: string, manifest: string, options: SubmitOptions): object {
  const { bucket, prefix, toleratedFailureCount, toleratedFailurePercentage, failFast, expectContentType, maxConcurrency } = options;
  return {
    exportId: options.exportId ?? jobId,
    userId: options.userId,
    source: { manifest, ...listReadingOf(options) },
    ...given('destination', { bucket, prefix }),
    ...given('options', {
      toleratedFailureCount,
      toleratedFailurePercentage,
      failFast,
      headers: options.header,
      expectContentType,
      maxConcurrency,
    }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
  };
}

/** What people have written, in place of the field of the message that it becomes. */
const OPTION_OF: readonly (readonly [field: string, option: string])[] = [
  ['exportId', '--export-id'],
  ['userId', '--user-id'],
  ['destination.bucket', '--bucket'],
  ['destination.prefix', '--prefix'],
  ['options.headers', '--header'],
  ['options.expectContentType', '--expect-content-type'],
  ['options.maxConcurrency', '--max-concurrency'],
  ['source.format', '--format'],
  ['source.keyFrom', '--key-from'],
  ['source.ignoreColumns', '--ignore-columns'],
  ['source.manifest', 'the address of the list'],
];
/** What both Step Functions and the service take, without what a command takes for an option. */
const NAME = /^(?!-|\.{1,2}$)[A-Za-z0-9._+!@='()-]{1,80}$/;

/** What the service would refuse of the options, each with its mend. Nothing has been sent yet. */
export function optionProblems(jobId: string, manifest: string, options: SubmitOptions): string[] {
  if (!NAME.test(jobId)) return ["--name must be 1 to 80 of A-Z a-z 0-9 . _ + ! @ = ' ( ) -, not begin with -, and not be . or .."];
  const parsed = parseExportJobMessage(JSON.stringify({ jobId, ...executionInput(jobId, manifest, options) }));
  return parsed.kind === 'ok' ? [] : parsed.reasons.map(asOption);
}

function asOption(reason: string): string {
  const [field, option] = OPTION_OF.find(([name]) => reason.startsWith(name)) ?? ['', ''];
  return `${option}${reason.slice(field.length)}`;
}

function given(name: string, values: Record<string, unknown>): object {
  const some = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  return Object.keys(some).length === 0 ? {} : { [name]: some };
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function percentage(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 100)) throw new InvalidArgumentError('It must be 0 to 100.');
  return value;
}

/** Shows no value: it may be a secret. */
function header(text: string, former: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^:\s]+)\s*:\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("Give a name and a value, like 'authorization: Bearer …'.");
  return { ...former, [name]: value };
}

function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below, like JSON that is no object.
  }
  throw new InvalidArgumentError('It must be a JSON object, like {"tenant":"a"}.');
}
