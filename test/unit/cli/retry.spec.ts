import { beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../../../src/cli/program.js';
import type { Services } from '../../../src/cli/services.js';
import { ReopenJobUseCase, type ExportJobEntity } from '../../../src/export-jobs/index.js';
import { parseExportJobMessage } from '../../../src/intake/adapters/export-job-message.schema.js';
import { resolveExportRequest } from '../../../src/intake/adapters/resolve-export-request.js';
import { AppError } from '../../../src/shared/index.js';
import { aJob, anOutcome, TOKEN, withoutToken } from '../../support/builders.js';
import { aFinisher, aSummary } from '../../support/finisher.js';

const MESSAGE = {
  jobId: 'job-1',
  exportId: 'export-1',
  userId: 'user-1',
  taskToken: TOKEN,
  source: { files: [{ url: 'https://origin.test/ä?q=1', key: 'a\u2028b.pdf' }] },
  options: { headers: { authorization: 'Bearer secret' } },
};
const DEFAULTS = { bucket: 'exports', destinationBuckets: ['exports'] };

/** As the intake reads a message of the jobs queue. */
async function requestOf(body: string) {
  const parsed = parseExportJobMessage(body);
  if (parsed.kind !== 'ok') throw new Error(parsed.reasons.join());
  const resolved = await resolveExportRequest(parsed.message, parsed.files, DEFAULTS);
  if (resolved.kind !== 'ok') throw new Error(resolved.reasons.join());
  return resolved.request;
}

let f: ReturnType<typeof aFinisher>;
let sent: string[];
let failed: ExportJobEntity;

beforeEach(async () => {
  f = aFinisher();
  sent = [];
  const { requestHash, requestJson } = await requestOf(JSON.stringify(MESSAGE));
  const error = { code: 'JobCompletedWithFailures', message: '1 of 10 tasks failed' } as const;
  const outcome = anOutcome({ status: 'FAILED', error });
  failed = withoutToken(aJob({ status: 'FAILED', requestHash, completedTasks: 9, failedTasks: 1, outcome, error, callback: 'failure' }));
  f.jobs.put(failed);
  f.batches.rows = [aSummary(0), aSummary(1, { completed: 4, failed: 1, bytes: 40 })];
  await f.results.saveRequest(failed, requestJson);
});

async function retry(options: string[] = [], over: Partial<Services> = {}) {
  let [stdout, stderr] = ['', ''];
  const services = {
    jobs: f.jobs,
    results: f.results,
    reopenJob: new ReopenJobUseCase(f.jobs, f.batches, f.logger),
    jobsQueue: { send: async ({ body }: { body: string }) => void sent.push(body) },
    close: async () => undefined,
    ...over,
  } as unknown as Services;
  const pipe = { isTty: false, columns: 80 };
  const terminal = {
    out: { ...pipe, write: (text: string) => void (stdout += text) },
    err: { ...pipe, write: (text: string) => void (stderr += text) },
  };
  const exitCode = await runCli(['retry', 'job-1', ...options], terminal, () => Promise.resolve(services));
  return { exitCode, stdout, stderr };
}

const job = () => f.jobs.get('job-1');

describe('retry', () => {
  it('reopens a failed job without a token and sends its message: the same request, and no token in it', async () => {
    const { exitCode, stdout } = await retry();
    expect([exitCode, stdout]).toEqual([
      0,
      'Job job-1 is reopened as run 2, without callbacks: 1 of 10 files to do. Follow it: npx export-worker watch job-1\n',
    ]);
    expect(job()).toMatchObject({ status: 'PROCESSING', run: 2, attempt: 1, completedTasks: 9, failedTasks: 0 });
    expect(job()).not.toHaveProperty('taskToken');
    const [body = ''] = sent;
    const request = await requestOf(body);
    expect(request).toMatchObject({ jobId: 'job-1', requestHash: failed.requestHash, headers: { authorization: 'Bearer secret' } });
    expect(request).not.toHaveProperty('taskToken');
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['CANCELLED', { failedTasks: 0 }],
    ['COMPLETED', { failedTasks: 1 }],
  ] as const)('reopens a %s job that lacks files', async (status, counts) => {
    f.jobs.put({ ...failed, status, ...counts });
    expect((await retry()).exitCode).toBe(0);
    expect(job()).toMatchObject({ status: 'PROCESSING', run: 2 });
    expect(sent).toHaveLength(1);
  });

  it('says that a job without a plan is read anew', async () => {
    const { plan: _plan, ...unplanned } = failed;
    f.jobs.put(unplanned);
    f.batches.rows = [];
    expect((await retry()).stdout).toContain('without callbacks: its list is read anew.');
  });

  it('tells programs what it did', async () => {
    const { stdout } = await retry(['--json']);
    expect(JSON.parse(stdout)).toMatchObject({ retried: true, jobId: 'job-1', status: 'PROCESSING', run: 2, completedTasks: 9 });
    const again = await retry(['--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ retried: true, status: 'PROCESSING', run: 2 });
  });

  it('writes nothing when nothing failed and nothing is missing', async () => {
    f.jobs.put({ ...failed, status: 'COMPLETED', completedTasks: 10, failedTasks: 0 });
    const { exitCode, stdout, stderr } = await retry();
    expect([exitCode, stdout, stderr]).toEqual([0, '', 'Job job-1 has nothing to retry: all its files are done (10)\n']);
    expect([job().run, sent]).toEqual([1, []]);
  });

  it.each(['DOWNLOADING', 'FINALIZING'] as const)('says that a job in %s is running', async (status) => {
    f.jobs.put({ ...failed, status });
    const { exitCode, stderr } = await retry();
    expect([exitCode, stderr]).toEqual([1, `Job job-1 was not retried: it is ${status}. Follow it: npx export-worker watch job-1\n`]);
    expect(sent).toEqual([]);
  });

  it('sends the message of a PROCESSING job again, which mends a crash between reopening and sending', async () => {
    const down = () => Promise.reject(new AppError('SQS_UNAVAILABLE', 'SQS SendMessageBatch failed: Error', { disposition: 'retry' }));
    const broken = await retry([], { jobsQueue: { send: down } });
    expect([broken.exitCode, broken.stderr]).toEqual([
      1,
      'Job job-1 is reopened, but its message could not be sent: SQS SendMessageBatch failed: Error. Run this again\n',
    ]);
    expect([job().status, sent]).toEqual(['PROCESSING', []]);
    const { exitCode, stdout } = await retry();
    expect([exitCode, stdout]).toEqual([
      0,
      'Job job-1 is PROCESSING already; its message was sent again. Follow it: npx export-worker watch job-1\n',
    ]);
    expect([job().run, sent.length]).toEqual([2, 1]);
  });

  it('goes by what it finds when somebody else was faster', async () => {
    f.gate.next('reopen', () => void f.jobs.put({ ...failed, status: 'PROCESSING', run: 2, taskToken: 'live' }));
    expect((await retry()).stdout).toContain('is PROCESSING already');
    expect(job().taskToken).toBe('live');
  });

  it('writes nothing when the request is gone, or is another one', async () => {
    f.results.objects.set(failed.requestKey, JSON.stringify(MESSAGE));
    const changed = await retry();
    expect([changed.exitCode, changed.stderr]).toEqual([1, expect.stringContaining('was changed since it was accepted')]);
    f.results.objects.clear();
    const gone = await retry();
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringMatching(/^The request of job job-1 cannot be read/)]);
    expect([job(), sent]).toEqual([failed, []]);
  });

  it('names the endpoint variable when the queue cannot be reached', async () => {
    const cause = Object.assign(new Error(''), { code: 'ECONNREFUSED', awsService: 'SQS' });
    const error = new AppError('SQS_UNAVAILABLE', 'SQS SendMessageBatch failed: Error', { disposition: 'retry', cause });
    const { stderr } = await retry([], { jobsQueue: { send: () => Promise.reject(error) } });
    expect(stderr).toContain('SQS cannot be reached (ECONNREFUSED)');
  });
});
