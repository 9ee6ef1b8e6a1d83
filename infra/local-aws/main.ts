import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { endProcess, RepeatedSignal, SystemClock } from '../../src/shared/index.js';
import { Coordinators, type Coordinator } from './coordinators.js';
import { startLocalAws, type LocalAws } from './local-aws.js';
import { claimLocalFiles, type LocalFiles } from './local-files.js';
import { asJson, asText } from './overview.js';

/** Exit codes: 0 stopped by a signal, 1 could not start, 2 wrong usage, 130 ended at once by a second signal. */

interface Options {
  json?: true;
  coordinators: number;
  dataDir?: string;
  requestLog?: string;
  port?: number;
}

const FOLDER = '.local';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function parseOptions(argv: readonly string[]): Options {
  const wholeNumber = (min: number, max: number) => (text: string) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
    return value;
  };
  const command = new Command('local')
    .description('Runs the embedded AWS, and services on it, until Ctrl-C.')
    .option('--json', 'print one line of JSON when everything is ready')
    .option('--coordinators <n>', 'how many services to run', wholeNumber(0, 16), 1)
    .option('--data-dir <dir>', 'keep rows and objects there (queues and executions live in memory)')
    .option('--request-log <file>', 'append every request that the embedded AWS sees, as lines of JSON')
    .option(
      '--port <first>',
      'use the ports from this one on: DynamoDB, SQS, S3, Step Functions, services (default: any free ones)',
      wholeNumber(1, 65_500),
    )
    .allowExcessArguments(false)
    .showHelpAfterError('(--help shows how)')
    .exitOverride();
  return command.parse(argv).opts<Options>();
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  const log = options.requestLog === undefined ? undefined : await openLog(options.requestLog);
  const aws = await startLocalAws({
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
    ...(options.port === undefined ? {} : { ports: portsFrom(options.port) }),
  });
  if (log !== undefined) writeRequests(aws, log);
  const files = claimLocalFiles(FOLDER);
  process.once('exit', () => files.remove());
  const coordinators = new Coordinators(aws.environment(), files.logFolder, (line) => process.stderr.write(`${line}\n`));
  handleSignals(stop);
  try {
    announce(aws, await startAll(coordinators, options, stop.signal), files, options);
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await coordinators.stop();
    await aws.close();
    if (log !== undefined) await finished(log.end());
  }
}

function handleSignals(stop: AbortController): void {
  const repeated = new RepeatedSignal(new SystemClock());
  const handle = () => {
    const is = repeated.take();
    if (is === 'first') {
      process.stderr.write('Stopping; running downloads get up to 15 s. Ctrl-C again ends at once.\n');
      stop.abort();
      // What is to be killed and removed hangs on the event `exit`.
    } else if (is === 'second') process.exit(130);
  };
  for (const signal of SIGNALS) process.on(signal, handle);
}

async function startAll(coordinators: Coordinators, { coordinators: count, port }: Options, signal: AbortSignal): Promise<Coordinator[]> {
  const first = port === undefined ? undefined : port + Object.keys(portsFrom(port)).length;
  return Promise.all(
    Array.from({ length: count }, (_, index) => coordinators.start(index + 1, first === undefined ? 0 : first + index, signal)),
  );
}

function announce(aws: LocalAws, coordinators: readonly Coordinator[], files: LocalFiles, { json, dataDir }: Options): void {
  files.writeEnvironment(aws.environment());
  if (json === true) {
    process.stdout.write(`${asJson(aws, coordinators)}\n`);
    return;
  }
  const { environmentFile } = files;
  process.stdout.write(asText(aws, coordinators, { dataDir, environmentFile }));
}

function portsFrom(first: number) {
  return { dynamodb: first, sqs: first + 1, s3: first + 2, states: first + 3 };
}

async function openLog(file: string): Promise<WriteStream> {
  const stream = createWriteStream(file, { flags: 'a' });
  await once(stream, 'open');
  return stream;
}

function writeRequests({ log }: LocalAws, stream: WriteStream): void {
  for (const record of log.records) stream.write(`${JSON.stringify(record)}\n`);
  log.subscribe((record) => stream.write(`${JSON.stringify(record)}\n`));
}

function explain(error: unknown): string {
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  return code === 'EADDRINUSE' ? `Port ${port} is in use: stop what listens there, or choose others with --port.` : message;
}

try {
  await run(parseOptions(process.argv));
  await endProcess(0);
} catch (error) {
  if (error instanceof CommanderError) await endProcess(error.exitCode === 0 ? 0 : 2);
  process.stderr.write(`${explain(error)}\n`);
  await endProcess(1);
}
