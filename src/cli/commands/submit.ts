import { DescribeExecutionCommand, StartExecutionCommand, type DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import type { NeededSetting } from '../../config/index.js';
import { isTerminal, type ExportJobEntity } from '../../export-jobs/index.js';
import { defaultPrefix } from '../../intake/index.js';
import { counted, newId } from '../../shared/index.js';
import { checkBytes, checkFile, type ListCheck } from '../check-list.js';
import { CliError, UsageError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { COMMAND, detachedFrom } from '../command-name.js';
import { EXIT_DETACHED, EXIT_FAILED } from '../exit-codes.js';
import { describeFailures, failureCounts, failuresOf } from '../job-failures.js';
import { FollowedWork } from '../followed-work.js';
import { describeRepeats, progressOf, viewOf, WAITING } from '../job-view.js';
import { listBytes } from '../list-bytes.js';
import { addListReadingOptions, listReadingOf } from '../list-reading.js';
import { ProgressDisplay, reasonOf } from '../presentation/index.js';
import { seconds } from '../seconds.js';
import type { Services } from '../services.js';
import { BATCHES, JOBS } from '../settings.js';
import { addSubmitOptions, executionInput, optionProblems, type SubmitOptions } from '../submit-options.js';
import { addressOf, removeManifest, uploadManifest } from '../upload-manifest.js';

/** An export that is refused never gets a row, one whose execution was stopped may keep it for a while. */
const ASK_EXECUTION_EVERY_S = 5;
const ADDRESS = /^(s3|https?):\/\//i;
const OF_THE_WEB = /^https?:/i;

export function addSubmitCommand(program: Command, cli: Cli): void {
  const command = program
    .command('submit')
    .description('start an export of a list of files: one URL a line, JSONL, JSON or CSV, also gzipped')
    .argument('<manifest>', 'file, - for standard input, or the s3:// or https:// address of a list');
  addListReadingOptions(addSubmitOptions(command)).action((list: string, options: SubmitOptions) => submit(cli, list, options));
}

interface Submission {
  jobId: string;
  executionArn: string;
  manifest: string;
}

async function submit(cli: Cli, list: string, options: SubmitOptions): Promise<void> {
  const jobId = options.name ?? newId();
  const problems = optionProblems(jobId, ADDRESS.test(list) ? list : 's3://bucket/list', options);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  if (options.dryRun) return dryRun(cli, list, jobId, options);
  await cli.use(neededBy(list, options), async (services) => {
    const submission = await start(services, jobId, list, options);
    if (options.wait !== true) {
      if (options.json) return cli.printJson(submission);
      if (options.quiet) return cli.print(`${jobId}\n`);
      return cli.say(`Job ${jobId} is submitted. Follow it: ${COMMAND} watch ${jobId}`);
    }
    const { execution, job } = await cli.interruptible((signal) => follow(cli, services, submission, { signal, quiet: options.quiet }));
    if (execution?.status !== 'SUCCEEDED') cli.exitCode = execution === undefined ? EXIT_DETACHED : EXIT_FAILED;
    if (options.quiet) return cli.print(`${jobId}\n`);
    if (execution === undefined) cli.tell(detachedFrom(jobId));
    const failures =
      execution === undefined || job === undefined || job.failedTasks === 0
        ? { first: [], groups: [] }
        : await failuresOf(cli, services.clients.s3, job, await services.batches.list(jobId));
    if (options.json)
      cli.printJson({
        ...submission,
        executionStatus: execution?.status ?? 'RUNNING',
        job: job === undefined ? null : viewOf(job),
        failures: failures.first,
        failureCounts: failureCounts(failures),
      });
    else if (execution !== undefined) {
      cli.say(describeEnd(jobId, execution, job));
      if (job !== undefined) cli.print(describeFailures(failures, job, cli.width()));
    }
  });
}

function neededBy(list: string, { wait }: SubmitOptions): NeededSetting[] {
  return [
    'AWS_REGION',
    'STATE_MACHINE_ARN',
    ...(OF_THE_WEB.test(list) ? [] : (['EXPORT_BUCKET'] as const)),
    ...(wait === true ? [...JOBS, ...BATCHES] : []),
  ];
}

/** Checks the list and says what is wrong with it. */
async function dryRun(cli: Cli, list: string, jobId: string, options: SubmitOptions): Promise<void> {
  const { files, repeatedTasks, problems, totalProblems } = await checkList(cli, list, jobId, options);
  if (totalProblems > 0) cli.exitCode = EXIT_FAILED;
  if (options.json) return cli.printJson({ files, repeatedTasks, problems, totalProblems });
  if (totalProblems === 0) {
    const repeats = repeatedTasks === 0 ? '' : `${describeRepeats(repeatedTasks)}. `;
    return cli.say(`The list is in order: ${counted(files, 'file')}. ${repeats}Nothing was sent`);
  }
  const more = totalProblems > problems.length ? ` (the first ${problems.length} are shown)` : '';
  cli.tell(`The list has ${counted(totalProblems, 'problem')}${more}; nothing was sent:`);
  for (const { line, reason } of problems) cli.tell(`  line ${line}: ${reason}`);
}

async function checkList(cli: Cli, list: string, jobId: string, options: SubmitOptions): Promise<ListCheck> {
  if (OF_THE_WEB.test(list)) throw new UsageError(`--dry-run reads no list from the web: fetch it first (curl -fsSLo list '${list}')`);
  const prefix = options.prefix ?? defaultPrefix(jobId);
  const reading = listReadingOf(options);
  if (list === '-') return checkBytes(process.stdin, prefix, reading);
  if (!ADDRESS.test(list)) return checkFile(list, prefix, reading);
  return cli.use(['AWS_REGION'], ({ clients }) => checkBytes(listBytes(clients.s3, list), prefix, reading));
}

async function start(services: Services, jobId: string, list: string, options: SubmitOptions): Promise<Submission> {
  const { clients, settings, destinationBuckets } = services;
  const { stateMachineArn } = settings;
  if (options.bucket !== undefined && destinationBuckets?.includes(options.bucket) === false)
    throw new UsageError('--bucket is not one of ALLOWED_DESTINATION_BUCKETS: name one of them, or add it there and in the service');
  const address = addressOf(list, settings.bucket);
  const manifest = address ?? (await uploadManifest(clients.s3, settings.bucket, list, options.allowEmpty));
  try {
    const input = JSON.stringify(executionInput(jobId, manifest, options));
    const { executionArn = '' } = await clients.stepFunctions.send(new StartExecutionCommand({ stateMachineArn, name: jobId, input }));
    return { jobId, executionArn, manifest };
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ExecutionAlreadyExists')) throw error;
    // Only of a list that is surely nobody's: after another error the execution may have begun.
    if (address === undefined) await removeManifest(clients.s3, manifest);
    throw new CliError(`The name ${jobId} is taken by another execution: give another --name`);
  }
}

/** Until the execution has ended; without one when interrupted. */
async function follow(
  cli: Cli,
  { jobs, batches, clients }: Services,
  { jobId, executionArn }: Submission,
  { signal, quiet }: { signal: AbortSignal; quiet: true | undefined },
): Promise<{ execution?: DescribeExecutionOutput; job: ExportJobEntity | undefined }> {
  const display = quiet ? undefined : new ProgressDisplay(cli.terminal.err);
  const work = new FollowedWork(batches);
  let job: ExportJobEntity | undefined;
  try {
    for await (const second of seconds(signal)) {
      job = await jobs.find(jobId);
      display?.show(job === undefined ? WAITING : progressOf(job, await work.of(job)));
      const mayHaveEnded = (job !== undefined && isTerminal(job.status)) || second % ASK_EXECUTION_EVERY_S === ASK_EXECUTION_EVERY_S - 1;
      if (!mayHaveEnded) continue;
      const execution = await clients.stepFunctions.send(new DescribeExecutionCommand({ executionArn }));
      if (execution.status !== 'RUNNING') return { execution, job };
    }
    return { job };
  } finally {
    display?.end();
  }
}

function describeEnd(jobId: string, { status, error, cause }: DescribeExecutionOutput, job: ExportJobEntity | undefined): string {
  const reason = error === undefined ? '' : ` (${error}: ${reasonOf(cause)})`;
  const ended = `Job ${jobId}: execution ${status}${reason}`;
  if (job === undefined) return ended;
  const { files, manifest, failedManifest } = viewOf(job);
  return [
    ended,
    `Files: ${files}`,
    `Results: ${manifest ?? 'none'}`,
    ...(failedManifest === null ? [] : [`Failed list: ${failedManifest}`]),
  ].join('\n');
}
