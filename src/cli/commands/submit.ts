import { DescribeExecutionCommand, StartExecutionCommand, type DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { InvalidArgumentError, type Command } from 'commander';
import { ConfigurationError } from '../../config/index.js';
import { isTerminal, type ExportJobEntity } from '../../export-jobs/index.js';
import type { ListReading } from '../../intake/index.js';
import { newId } from '../../shared/index.js';
import { CliError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { COMMAND, detachedFrom } from '../command-name.js';
import { EXIT_DETACHED, EXIT_FAILED } from '../exit-codes.js';
import { describeFailures, firstFailures } from '../first-failures.js';
import { FollowedWork } from '../followed-work.js';
import { progressOf, viewOf } from '../job-view.js';
import { addListReadingOptions, listReadingOf } from '../list-reading.js';
import { ProgressDisplay, reasonOf } from '../presentation/index.js';
import { seconds } from '../seconds.js';
import type { Services } from '../services.js';
import { addressOf, uploadManifest } from '../upload-manifest.js';

/** An export that is refused never gets a row, one whose execution was stopped may keep it for a while. */
const ASK_EXECUTION_EVERY_S = 5;

export interface SubmitOptions extends ListReading {
  exportId?: string;
  userId: string;
  bucket?: string;
  prefix?: string;
  toleratedFailureCount?: number;
  toleratedFailurePercentage?: number;
  failFast?: true;
  name?: string;
  wait?: true;
  json?: true;
}

export function addSubmitCommand(program: Command, cli: Cli): void {
  addListReadingOptions(program.command('submit'))
    .description('start an export of a list of files: one URL a line, JSONL, JSON or CSV, also gzipped')
    .argument('<manifest>', 'file, - for standard input, or the s3:// or https:// address of a list')
    .option('--export-id <id>', "yours; default: the job's id")
    .option('--user-id <id>', 'whose export it is', 'cli')
    .option('--bucket <bucket>', 'where the files go; default: EXPORT_BUCKET')
    .option('--prefix <prefix>', 'where in the bucket; default: exports/<job id>/')
    .option('--tolerated-failure-count <n>', 'succeed with so many failed files', wholeNumber)
    .option('--tolerated-failure-percentage <p>', 'succeed with such a share of failed files', percentage)
    .option('--fail-fast', 'end the job as soon as more files have failed than tolerated')
    .option('--name <name>', "the execution's name and the job's id; default: a random one")
    .option('--wait', 'follow the job; exit code 0 when its execution succeeds')
    .option('--json', 'one JSON object')
    .action((manifest: string, options: SubmitOptions) => submit(cli, manifest, options));
}

interface Submission {
  jobId: string;
  executionArn: string;
  manifest: string;
}

async function submit(cli: Cli, list: string, options: SubmitOptions): Promise<void> {
  await cli.use(async (services) => {
    const submission = await start(services, list, options);
    const { jobId } = submission;
    if (options.wait !== true) {
      if (options.json) return cli.printJson(submission);
      return cli.terminal.out(`Job ${jobId} is submitted. Follow it: ${COMMAND} watch ${jobId}\n`);
    }
    const { execution, job } = await cli.interruptible((signal) => follow(cli, services, submission, signal));
    if (execution?.status !== 'SUCCEEDED') cli.exitCode = execution === undefined ? EXIT_DETACHED : EXIT_FAILED;
    if (execution === undefined) cli.tell(detachedFrom(jobId));
    const failures =
      execution === undefined || job === undefined || job.failedTasks === 0
        ? []
        : await firstFailures(cli, services.clients.s3, job, await services.batches.list(jobId));
    if (options.json)
      cli.printJson({
        ...submission,
        executionStatus: execution?.status ?? 'RUNNING',
        job: job === undefined ? null : viewOf(job),
        failures,
      });
    else if (execution !== undefined)
      cli.terminal.out(describeEnd(jobId, execution, job) + (job === undefined ? '' : describeFailures(failures, job)));
  });
}

async function start({ clients, settings }: Services, list: string, options: SubmitOptions): Promise<Submission> {
  const { stateMachineArn } = settings;
  if (stateMachineArn === undefined)
    throw new ConfigurationError([
      'STATE_MACHINE_ARN is required to submit: set it to the ARN of the state machine that the deployment made',
    ]);
  const jobId = options.name ?? newId();
  const manifest = addressOf(list, settings.bucket) ?? (await uploadManifest(clients.s3, settings.bucket, list, options.allowEmpty));
  try {
    const input = JSON.stringify(executionInput(jobId, manifest, options));
    const { executionArn = '' } = await clients.stepFunctions.send(new StartExecutionCommand({ stateMachineArn, name: jobId, input }));
    return { jobId, executionArn, manifest };
  } catch (error) {
    if (error instanceof Error && error.name === 'ExecutionAlreadyExists')
      throw new CliError(`The name ${jobId} is taken by another execution: give another --name`);
    throw error;
  }
}

/** The input of the shipped state machine; what the options leave out is the service's to decide. */
export function executionInput(jobId: string, manifest: string, options: SubmitOptions): object {
  const { bucket, prefix, toleratedFailureCount, toleratedFailurePercentage, failFast } = options;
  const destination = { ...(bucket === undefined ? {} : { bucket }), ...(prefix === undefined ? {} : { prefix }) };
  const sent = {
    ...(toleratedFailureCount === undefined ? {} : { toleratedFailureCount }),
    ...(toleratedFailurePercentage === undefined ? {} : { toleratedFailurePercentage }),
    ...(failFast === undefined ? {} : { failFast }),
  };
  return {
    exportId: options.exportId ?? jobId,
    userId: options.userId,
    source: { manifest, ...listReadingOf(options) },
    ...(Object.keys(destination).length === 0 ? {} : { destination }),
    ...(Object.keys(sent).length === 0 ? {} : { options: sent }),
  };
}

/** Until the execution has ended; without one when interrupted. */
async function follow(
  cli: Cli,
  { jobs, batches, clients }: Services,
  { jobId, executionArn }: Submission,
  signal: AbortSignal,
): Promise<{ execution?: DescribeExecutionOutput; job: ExportJobEntity | undefined }> {
  const display = new ProgressDisplay(cli.terminal.err);
  const work = new FollowedWork(batches);
  let job: ExportJobEntity | undefined;
  try {
    for await (const second of seconds(signal)) {
      job = await jobs.find(jobId);
      display.show(job === undefined ? { label: 'WAITING', completed: 0, failed: 0, bytes: 0 } : progressOf(job, await work.of(job)));
      const mayHaveEnded = (job !== undefined && isTerminal(job.status)) || second % ASK_EXECUTION_EVERY_S === ASK_EXECUTION_EVERY_S - 1;
      if (!mayHaveEnded) continue;
      const execution = await clients.stepFunctions.send(new DescribeExecutionCommand({ executionArn }));
      if (execution.status !== 'RUNNING') return { execution, job };
    }
    return { job };
  } finally {
    display.end();
  }
}

function describeEnd(jobId: string, { status, error, cause }: DescribeExecutionOutput, job: ExportJobEntity | undefined): string {
  const reason = error === undefined ? '' : ` (${error}: ${reasonOf(cause)})`;
  const ended = `Job ${jobId}: execution ${status}${reason}\n`;
  if (job === undefined) return ended;
  const { files, manifest, failedManifest } = viewOf(job);
  return `${ended}Files: ${files}\nResults: ${manifest ?? 'none'}\n${failedManifest === null ? '' : `Failed list: ${failedManifest}\n`}`;
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
