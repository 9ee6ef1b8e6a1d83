import { parseArgs } from 'node:util';
import { RIVALS, type Rival } from './scenarios/transfer.js';
import { TRANSFER_SCENARIOS } from './scenarios/transfer-mixes.js';

export const BENCHES = ['counting', ...TRANSFER_SCENARIOS, 'ceiling', 'memory', 'loop'] as const;
export type BenchName = (typeof BENCHES)[number];

export const USAGE = `Usage: npm run bench -- <name> [options]
  counting             --tasks 1000,1000000
  small, large, mixed  --pairs 5  --files 10000  --size 1GiB  --large-files 4  --latency-ms 30
                       --threads 4  --files-per-thread 8  --parts-per-file 4  --without rclone,naive
  ceiling              --files 10000  --size 1GiB  --large-files 4  --latency-ms 30  --threads 4  --files-per-thread 8
  memory               --manifest-tasks 1000000  --file-size 10GiB  --watch-s 120
  loop                 --tokens 5000  --seconds 120
  --json               one object as the last line
`;

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

export class UsageError extends Error {}

export interface BenchOptions {
  name: BenchName;
  json: boolean;
  tasks: number[];
  pairs: number;
  files: number;
  largeBytes: number;
  largeFiles: number;
  latencyMs: number;
  threads: number;
  filesPerThread: number;
  partsPerFile: number;
  rivals: Rival[];
  manifestTasks: number;
  fileBytes: number;
  watchS: number;
  tokens: number;
  seconds: number;
}

/** @throws UsageError that says what is wrong */
export function parseOptions(argv: readonly string[]): BenchOptions {
  const { positionals, values } = parsed(argv);
  const [name, ...others] = positionals;
  if (name === undefined) throw new UsageError('Which bench?');
  const known = BENCHES.find((bench) => bench === name);
  if (known === undefined) throw new UsageError(`There is no bench ${name}.`);
  if (others.length > 0) throw new UsageError(`One bench at a time: ${others.join(' ')} is too much.`);
  return {
    name: known,
    json: values.json,
    tasks: values.tasks.split(',').map((text) => count('tasks', text)),
    pairs: count('pairs', values.pairs),
    files: count('files', values.files),
    largeBytes: parseBytes('size', values.size),
    largeFiles: count('large-files', values['large-files']),
    latencyMs: wholeNumber('latency-ms', values['latency-ms'], 0),
    threads: count('threads', values.threads),
    filesPerThread: count('files-per-thread', values['files-per-thread']),
    partsPerFile: count('parts-per-file', values['parts-per-file']),
    rivals: rivalsWithout(values.without),
    manifestTasks: count('manifest-tasks', values['manifest-tasks']),
    fileBytes: parseBytes('file-size', values['file-size']),
    watchS: count('watch-s', values['watch-s']),
    tokens: count('tokens', values.tokens),
    seconds: count('seconds', values.seconds),
  };
}

function parsed(argv: readonly string[]) {
  const text = (byDefault: string) => ({ type: 'string', default: byDefault }) as const;
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        tasks: text('1000,1000000'),
        pairs: text('5'),
        files: text('10000'),
        size: text('1GiB'),
        'large-files': text('4'),
        'latency-ms': text('30'),
        threads: text('4'),
        'files-per-thread': text('8'),
        'parts-per-file': text('4'),
        without: text(''),
        'manifest-tasks': text('1000000'),
        'file-size': text('10GiB'),
        'watch-s': text('120'),
        tokens: text('5000'),
        seconds: text('120'),
      },
    });
  } catch (cause) {
    // Node's own words, without what it says of arguments that begin with a dash.
    throw new UsageError((cause as Error).message.replace(/(?<=\.) To specify.*$/s, ''), { cause });
  }
}

function rivalsWithout(text: string): Rival[] {
  const names = text.split(',').filter((name) => name !== '');
  const strange = names.find((name) => !(RIVALS as readonly string[]).includes(name));
  if (strange !== undefined) throw new UsageError(`--without: ${strange} is none of ${RIVALS.join(', ')}.`);
  return RIVALS.filter((rival) => !names.includes(rival));
}

function count(option: string, text: string): number {
  return wholeNumber(option, text, 1);
}

function wholeNumber(option: string, text: string, min: number): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < min)
    throw new UsageError(`--${option}: ${text || '(nothing)'} is no whole number from ${min} on.`);
  return value;
}

/** `65536`, `512MiB`, `10GiB`. */
function parseBytes(option: string, text: string): number {
  const [, digits, unit = 'B'] = /^(\d+)(B|KiB|MiB|GiB)?$/.exec(text) ?? [];
  const bytes = Number(digits) * (UNITS[unit] ?? NaN);
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw new UsageError(`--${option}: ${text || '(nothing)'} is no size such as 512MiB or 1GiB.`);
  return bytes;
}
