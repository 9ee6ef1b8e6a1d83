import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deferred } from '../support/deferred.js';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { CommandProcess } from './command-process.js';
import { ExportFixture } from './export-fixture.js';

interface JobJson {
  jobId: string;
  status: string;
  completedTasks: number;
  error: { code: string; message: string } | null;
  [field: string]: unknown;
}

describe('the export-worker command', () => {
  let fixture: ExportFixture;
  let service: ExportService;
  let folder: string;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    service = await fixture.startService({ BATCH_HEARTBEAT_INTERVAL_MS: '200', STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000' });
    folder = await mkdtemp(join(tmpdir(), 'cli-spec-'));
  });
  afterAll(async () => {
    // `jobs --all` and the beginning of an id.
    await fixture.close([fixture.aws.resources.jobsTable]);
    await rm(folder, { recursive: true });
  });

  const start = (args: string[], input?: string) => CommandProcess.start('src/cli/main.js', args, fixture.aws.environment(), input);
  const run = (args: string[], input?: string) => start(args, input).ended;
  const parse = (stdout: string) => JSON.parse(stdout) as JobJson;

  async function listOf(name: string, urls: string[]): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, urls.map((url) => `${url}\n`).join(''));
    return path;
  }

  /** A job of one finished file and one that waits for the gate. */
  async function startGatedJob(name: string) {
    const { promise, resolve } = deferred();
    const { origin } = fixture;
    const files = [
      { url: origin.file(`/${name}/done.txt`, 'done'), key: 'done.txt' },
      { url: origin.gated(`/${name}/waits.txt`, 'waits', promise), key: 'waits.txt' },
    ];
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    await eventually(async () => (await fixture.jobRow(jobId))?.completedTasks === 1);
    return { arn, jobId, open: () => resolve() };
  }

  it('submits a list and follows it to the end of its execution', async () => {
    const list = await listOf('list.txt', [fixture.origin.file('/submit/a.txt', 'a'), fixture.origin.file('/submit/b.txt', 'b')]);
    const { code, stdout, stderr } = await run(['submit', list, '--wait', '--name', 'submitted', '--prefix', 'mine/']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Job submitted: execution SUCCEEDED\nFiles: s3://local-exports/mine/\n')]);
    expect(stderr).toContain('2/2 (100%)');
    expect(await fixture.objectText('mine/b.txt')).toBe('b');
    const again = await run(['submit', list, '--name', 'submitted', '--prefix', 'other/']);
    expect([again.code, again.stderr]).toEqual([1, 'The name submitted is taken by another execution: give another --name\n']);
  });

  it('takes a list from standard input and answers programs with one JSON value', async () => {
    const line = JSON.stringify({ url: fixture.origin.file('/stdin/a.txt', 'abc'), key: 'deep/a.txt', size: 3 });
    const { code, stdout } = await run(['submit', '-', '--wait', '--json', '--export-id', 'from-stdin'], `${line}\n`);
    expect(code).toBe(0);
    expect(parse(stdout)).toMatchObject({
      executionStatus: 'SUCCEEDED',
      job: { exportId: 'from-stdin', status: 'COMPLETED', completedTasks: 1, bytesProcessed: 3, callback: 'success' },
    });
  });

  it('exits with 1 and the reason when the execution it waits for fails', async () => {
    const gone = await run(['submit', await listOf('gone.txt', [`${fixture.origin.url}/gone.txt`]), '--wait']);
    expect(gone.code).toBe(1);
    expect(gone.stdout).toContain('execution FAILED (JobCompletedWithFailures: 1 of 1 tasks failed');
    expect(gone.stdout).toMatch(/\nFailed list: s3:.*\/run-1\/failed\.jsonl\nFailed files:\n {2}1 × HTTP_404: \S.*\n {6}gone\.txt\n/);
    const [, failedList = ''] = /Failed list: (s3:\S+)/.exec(gone.stdout) ?? [];
    const tolerated = await run(['submit', failedList, '--wait', '--tolerated-failure-count', '1']);
    expect([tolerated.code, tolerated.stdout]).toEqual([0, expect.stringContaining('execution SUCCEEDED')]);
    const broken = await run(['submit', '-', '--wait'], 'no URL\n');
    expect(broken.code).toBe(1);
    expect(broken.stdout).toContain('InvalidExportRequest: The manifest has 1 problem');
  });

  it('learns of a request that is refused before it is a job', async () => {
    const { code, stdout } = await run(['submit', '-', '--wait', '--bucket', 'not-allowed'], `${fixture.origin.url}/a\n`);
    expect(code).toBe(1);
    expect(stdout).toContain('InvalidExportRequest');
    expect(stdout).toContain('ALLOWED_DESTINATION_BUCKETS');
  });

  it('shows an active job in jobs, job and watch, never its token, and its end', async () => {
    const { jobId, open } = await startGatedJob('shown');
    const listed = await run(['jobs', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ jobId, status: 'DOWNLOADING', completedTasks: 1, totalTasks: 2 }]);
    expect((await run(['jobs', '--status', 'FINALIZING'])).stdout).toBe('');

    const active = await run(['job', jobId]);
    expect(active.stdout).toMatch(/Files +1 done, 0 failed, 2 in all/);
    expect(active.stdout).toMatch(/Batches +1 running/);
    expect(active.stdout).toMatch(/Last heartbeat +20/);
    for (const { token } of fixture.aws.stepFunctions.tokens()) expect(active.stdout + listed.stdout).not.toContain(token);

    const watch = start(['watch', jobId, '--json']);
    await eventually(() => watch.stdout.includes('\n'));
    open();
    const { code, stdout } = await watch.ended;
    const seen = stdout.trimEnd().split('\n').map(parse);
    expect([code, seen[0]?.status, seen.at(-1)?.status, seen.at(-1)?.completedTasks]).toEqual([0, 'DOWNLOADING', 'COMPLETED', 2]);

    const ended = parse((await run(['job', jobId, '--json'])).stdout);
    expect(ended).toMatchObject({ status: 'COMPLETED', batches: { succeeded: 1 }, callback: 'success', error: null });
    expect(ended.manifest).toBe(`s3://local-exports/exports/${jobId}/_export/${jobId}/run-1/manifest.json`);
    expect((await run(['jobs'])).stderr).toContain('No active jobs. Ended jobs: npx export-worker jobs --all.');
  });

  it('cancels a job, whose execution fails with the reason', async () => {
    const { arn, jobId, open } = await startGatedJob('cancelled');
    const { code, stdout } = await run(['cancel', jobId, '--reason', 'wrong list']);
    expect([code, stdout]).toEqual([
      0,
      `Job ${jobId} is cancelled (1 file done; token: failure). What still downloads stops within 10 s\n`,
    ]);
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'ExportCancelled' });
    expect(execution.cause).toContain('wrong list');
    const again = await run(['cancel', jobId]);
    expect([again.code, again.stderr]).toEqual([0, `Job ${jobId} had been cancelled before\n`]);
    expect((await run(['watch', jobId])).code).toBe(1);
    open();
    // Nobody collects the metrics of a command, or keeps its log.
    await eventually(() => service.events().some((event) => event.jobId === jobId && event.by === 'command'));
    expect(await (await fetch(`${service.url}/metrics`)).text()).toContain('jobs_total{status="CANCELLED"} 1');
  });

  it('detaches from a job on Ctrl-C and says how to follow it again', async () => {
    const { promise, resolve } = deferred();
    const list = await listOf('detached.txt', [fixture.origin.gated('/detached.txt', 'x', promise)]);
    const submit = start(['submit', list, '--wait', '--name', 'detached']);
    await eventually(() => submit.stderr.includes('DOWNLOADING'));
    // npm passes on what its process group got, at any time until the command has ended.
    const passingOn = setInterval(() => submit.signal('SIGINT'), 1);
    const { code, stderr } = await submit.ended;
    clearInterval(passingOn);
    expect(code).toBe(130);
    expect(stderr).toContain('Detached; the job goes on. Follow it again: npx export-worker watch detached');
    resolve();
    await fixture.jobIn('detached', 'COMPLETED');
  });

  it('tells people in one line what is missing, and where AWS was looked for', async () => {
    expect(await run(['job', 'nobody'])).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^There is no job nobody: .*\n$/) });
    expect((await run(['jobs', '--nonsense'])).code).toBe(2);
    const nowhere = { ...fixture.aws.environment(), AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
    const unreachable = await CommandProcess.start('src/cli/main.js', ['jobs'], nowhere).ended;
    expect([unreachable.code, unreachable.stdout]).toEqual([1, '']);
    expect(unreachable.stderr).toMatch(/^DynamoDB cannot be reached \(ECONNREFUSED\): .*AWS_ENDPOINT_URL_DYNAMODB.*\n$/);
    const unconfigured = await CommandProcess.start('src/cli/main.js', ['jobs'], { AWS_REGION: 'us-east-1' }).ended;
    expect(unconfigured.code).toBe(78);
    expect(unconfigured.stderr).toContain('"DYNAMODB_JOBS_TABLE" is required');
    expect(unconfigured.stderr).toContain('source .local/env first');
    const all = fixture.aws.environment();
    const read = Object.entries(all).filter(([name]) => !/^(SQS|EXPORT)_|_(RECLAIMS|BATCHES)_TABLE$/.test(name));
    expect((await CommandProcess.start('src/cli/main.js', ['jobs'], Object.fromEntries(read)).ended).code).toBe(0);
  });

  it('is found by npx in a checkout, and nothing but its answer goes to standard output', async () => {
    const environment = { ...process.env, ...fixture.aws.environment(), npm_config_cache: join(folder, 'npm'), npm_config_offline: 'true' };
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    const { stdout } = await promisify(execFile)('npx', ['export-worker', 'jobs', '--json'], { cwd, env: environment });
    expect(JSON.parse(stdout)).toEqual(expect.any(Array));
  });

  it('serves until SIGTERM', async () => {
    const environment = { ...fixture.aws.environment(), PORT: '0', HOST: '127.0.0.1', WORKER_POOL_SIZE: '1' };
    const service = CommandProcess.start('src/cli/main.js', ['serve'], environment);
    await eventually(() => service.stdout.includes('Service started'));
    service.signal('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });

  it('passes arguments, exit code and signals to and from the demo', async () => {
    expect((await run(['demo', '--unknown'])).code).toBe(2);
    expect(await run(['demo', 'nosuch.txt'])).toMatchObject({ code: 2, stderr: expect.stringContaining('nosuch.txt cannot be read') });
    const demo = CommandProcess.start('src/cli/main.js', ['demo'], { TMPDIR: folder });
    await eventually(() => demo.stdout.includes('starting the service'));
    demo.signal('SIGTERM');
    demo.signal('SIGTERM');
    const { code, stdout } = await demo.ended;
    expect([code, stdout]).toEqual([130, expect.stringContaining('Interrupted; everything is stopped.')]);
  });
});
