import { describe, expect, it } from '@jest/globals';
import { averageRates, currentRates } from '../../../src/cli/job-rates.js';
import { loadConfiguration } from '../../../src/config/index.js';
import type { ExportJobEntity, JobFilter } from '../../../src/export-jobs/index.js';
import { job, run } from '../../support/command-line.js';
import { aSummary } from '../../support/finisher.js';

const uuid = (begin: string) => `${begin}-0000-4000-8000-000000000000`;
const ended = (jobId: string, createdAt: string): ExportJobEntity => ({ ...job, jobId, createdAt, status: 'FAILED' });

/** A table of jobs; what is asked of it is remembered. */
function tableOf(...rows: ExportJobEntity[]) {
  const asked: JobFilter[] = [];
  const jobs = {
    find: async (id: string) => rows.find(({ jobId }) => jobId === id),
    list: async () => [],
    scan: async function* (filter: JobFilter) {
      asked.push(filter);
      yield rows.filter(({ jobId }) => jobId.startsWith(filter.idPrefix ?? ''));
    },
  };
  return { jobs, asked };
}

describe('jobs --all', () => {
  const { jobs, asked } = tableOf(ended('old', '2026-01-01T00:00:00.000Z'), ended('new', '2026-01-02T00:00:00.000Z'));

  it('lists ended jobs, too, newest first, up to a limit that it names', async () => {
    const { stdout, stderr } = await run(['jobs', '--all', '--limit', '1'], { jobs });
    expect(stdout).toMatch(/^JOB .*\nnew +FAILED .*\n$/);
    expect(stderr).toMatch(/^1 job, the newest; --limit 10 shows more\. 2 coordinators live\.\n$/);
  });

  it('asks for a status and a time, of which an ended status needs no --all', async () => {
    asked.length = 0;
    await run(['jobs', '--status', 'failed', '--since', '2026-01-02'], { jobs });
    expect(asked).toEqual([{ statuses: ['FAILED'], createdSince: '2026-01-02T00:00:00.000Z' }]);
  });

  it('leaves out of the active ones what is older than --since', async () => {
    expect((await run(['jobs', '--since', '12h'])).stdout).toBe('');
    expect((await run(['jobs', '--since', '2025-12-31'])).stdout).toContain('job-1');
  });
});

describe('the beginning of an id', () => {
  const { jobs } = tableOf(ended(uuid('aaaa1111'), job.createdAt), ended(uuid('aaaa2222'), job.createdAt));

  it('is taken for the only job whose id begins so', async () => {
    expect((await run(['job', 'aaaa1'], { jobs })).stdout).toContain(uuid('aaaa1111'));
    expect((await run(['watch', 'aaaa2'], { jobs })).stdout).toContain(`Job ${uuid('aaaa2222')} ended: FAILED`);
  });

  it.each([['job'], ['watch'], ['cancel'], ['retry']])('is refused by %s when several begin so, and they are named', async (command) => {
    const { exitCode, stderr, stdout } = await run([command, 'aaaa'], { jobs });
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`The ids of 2 jobs begin with aaaa: give more of it (${uuid('aaaa1111')}, ${uuid('aaaa2222')})`);
  });

  it('is not looked for when it is short, or a whole id: the table is large', async () => {
    const { jobs: nothing, asked } = tableOf();
    for (const id of ['abc', uuid('aaaa1111')]) expect((await run(['job', id], { jobs: nothing })).exitCode).toBe(1);
    expect(asked).toEqual([]);
  });
});

describe('a terminal of 80 columns', () => {
  const long = {
    ...job,
    jobId: uuid('aaaa1111'),
    exportId: 'e'.repeat(60),
    completedTasks: 9_999_999,
    failedTasks: 99_999,
    bytesProcessed: 5e14,
  };
  const { jobs } = tableOf(long);
  const held = aSummary(0, {
    status: 'running',
    lockToken: 1,
    lockedBy: 'ip-10-0-0-1.eu-central-1.internal-4711-a1b2c3d4',
    lockedAt: long.createdAt,
  });
  const services = { jobs: { ...jobs, list: async () => [long] }, batches: { list: async () => [held] } };
  const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

  it.each([[true], [false]])('is wide enough for jobs and job, also behind a pipe (terminal: %s)', async (isTty) => {
    const at = { isTty, columns: 80 };
    for (const args of [['jobs'], ['job', long.jobId]]) expect(widest((await run(args, services, at)).stdout)).toBeLessThanOrEqual(80);
    expect((await run(['jobs'], services, at)).stdout).not.toContain(long.jobId);
    expect((await run(['jobs', '--wide'], services, at)).stdout).toContain(long.jobId);
  });

  it('is wide enough for messages, which a pipe gets as one line', async () => {
    const onTerminal = await run(['job', 'nobody'], {}, { isTty: true, columns: 80 });
    expect(widest(onTerminal.stderr)).toBeLessThanOrEqual(80);
    expect((await run(['job', 'nobody'])).stderr.trimEnd()).not.toContain('\n');
    const misspelt = await run(['jobs', '--status', 'failde'], {}, { isTty: true, columns: 80 });
    expect([misspelt.exitCode, widest(misspelt.stderr) <= 80]).toEqual([2, true]);
  });
});

describe('what a command needs of the configuration', () => {
  it.each([
    [['jobs'], ['DYNAMODB_JOBS_TABLE', 'DYNAMODB_COORDINATORS_TABLE']],
    [
      ['job', 'job-1'],
      ['DYNAMODB_JOBS_TABLE', 'DYNAMODB_BATCHES_TABLE'],
    ],
    [
      ['watch', 'job-1', '--json'],
      ['DYNAMODB_JOBS_TABLE', 'DYNAMODB_BATCHES_TABLE'],
    ],
    [['stale'], ['DYNAMODB_BATCHES_TABLE', 'DYNAMODB_COORDINATORS_TABLE']],
    [['history'], ['DYNAMODB_RECLAIMS_TABLE']],
  ])('%j: where it reads', async (args, settings) => {
    const { jobs } = tableOf(ended('job-1', job.createdAt));
    const { needed } = await run(args, { jobs });
    expect(new Set(needed)).toEqual(new Set(['AWS_REGION', ...settings]));
  });

  it('is all that must be set; what else is absent says so', () => {
    const { tables } = loadConfiguration({ AWS_REGION: 'eu-west-1', DYNAMODB_JOBS_TABLE: 'jobs' }, ['AWS_REGION', 'DYNAMODB_JOBS_TABLE']);
    expect(tables).toMatchObject({ jobs: 'jobs', batches: 'DYNAMODB_BATCHES_TABLE is not set' });
  });
});

describe('watch of a job that was just submitted', () => {
  it('waits until a service has accepted it', async () => {
    const rows = [undefined, { ...job, status: 'COMPLETED' as const }];
    const { exitCode, stdout, stderr } = await run(['watch', 'job-1'], { jobs: { find: async () => rows.shift() } });
    expect([exitCode, stdout]).toEqual([0, 'Job job-1 ended: COMPLETED\n']);
    expect(stderr).toMatch(/^NOT ACCEPTED YET /);
  });
});

describe('job of a run that was reopened', () => {
  const reopened = {
    ...job,
    run: 2,
    completedTasks: 7,
    failedTasks: 0,
    bytesProcessed: 100,
    reopened: { at: '2026-01-01T01:00:00.000Z', completed: 5, bytes: 60 },
  };
  const former = { key: 'FAILED_1.jsonl', size: 1 };
  const rows = [
    aSummary(0),
    aSummary(1, { failed: 5, completed: 0, status: 'dead', resultKeys: { succeeded: former, failed: former } }),
    aSummary(2, { run: 2, status: 'running', completed: 2, bytes: 40, lockToken: 1, lockedAt: '2026-01-01T01:00:06.000Z' }),
    aSummary(3, { run: 2, status: 'running', completed: 5, bytes: 400, lockToken: 2, lockedAt: '2026-01-01T01:00:06.000Z' }),
  ];
  const services = { jobs: { find: async () => reopened }, batches: { list: async () => rows } };
  const nowMs = Date.parse('2026-01-01T01:00:10.000Z');

  it('shows neither batches nor failures of the former run as its own', async () => {
    const { stdout, sent } = await run(['job', 'job-1'], services);
    expect(stdout).toMatch(/Batches +1 succeeded, 2 running, 1 of the former run\n/);
    expect(stdout).toMatch(/Reopened +2026-01-01T01:00:00\.000Z, with 5 files done\n/);
    expect(stdout).toMatch(/Rate .* now\n .* on average\n/);
    expect(stdout).not.toContain('Failed files');
    expect(sent).toEqual([]);
  });

  it('tells the rate of this run alone, and of what is in hand, where nothing is known to be older', () => {
    expect(averageRates(reopened, 0, nowMs)).toEqual({ tasksPerSecond: 0.2, bytesPerSecond: 4 });
    expect(currentRates(rows, nowMs)).toEqual({ tasksPerSecond: 0.5, bytesPerSecond: 10 });
  });

  it('tells no average of a run that a former version began', () => {
    const { reopened: _at, ...old } = reopened;
    expect(averageRates(old, 0, nowMs)).toBeUndefined();
  });
});
