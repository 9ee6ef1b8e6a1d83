import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ConfigurationError } from '../../../src/config/index.js';
import { runCli } from '../../../src/cli/program.js';
import type { Services } from '../../../src/cli/services.js';
import { job, run, TOKEN, type GivenServices } from '../../support/command-line.js';
import { aSummary } from '../../support/finisher.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function listFile(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cli-spec-'));
  folders.push(folder);
  const path = join(folder, 'list.txt');
  await writeFile(path, text);
  return path;
}

describe('a command line that cannot be used', () => {
  it.each([
    [['unknown']],
    [['jobs', '--unknown']],
    [['jobs', '--status', 'DONE']],
    [['jobs', '--since', 'yesterday']],
    [['jobs', '--since', '2026-02-31']],
    [['jobs', '--since', '2026-13-01']],
    [['jobs', '--since', '2026-02-31T10:00:00Z']],
    [['jobs', '--since', '11/29/2026']],
    [['jobs', '--limit', '0']],
    [['job']],
    [['submit', 'list', '--tolerated-failure-count', '-1']],
    [['submit', 'list', '--tolerated-failure-count', '1.5']],
    [['submit', 'list', '--tolerated-failure-percentage', '101']],
    [['submit', 'list', '--tolerated-failure-percentage', '']],
    [['submit', 'list', '--format', 'xml']],
    [['submit', 'list', '--key-from', 'url']],
    [[]],
  ])('exits with 2 and says what is wrong: %j', async (args) => {
    const { exitCode, stdout, stderr, closed } = await run(args);
    expect([exitCode, stdout, closed]).toEqual([2, '', 0]);
    expect(stderr).not.toBe('');
  });

  it('is told where help is', async () => {
    expect((await run(['jobs', '--unknown'])).stderr).toContain('(--help shows how)');
  });

  it('is none when it asks for the version', async () => {
    expect(await run(['--version'])).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it('is none when it asks for help', async () => {
    const { exitCode, stdout } = await run(['submit', '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('--tolerated-failure-count');
  });
});

describe('submit', () => {
  it('uploads the list as it is and starts an execution of that name', async () => {
    const { exitCode, stdout, sent } = await run(['submit', await listFile('http://a/b\n'), '--name', 'my-job', '--json']);
    expect(exitCode).toBe(0);
    const [put, start] = sent;
    expect(put).toMatchObject({ name: 'PutObjectCommand', input: { Bucket: 'bucket', Body: Buffer.from('http://a/b\n') } });
    const manifest = `s3://bucket/${String(put?.input.Key)}`;
    expect(manifest).toMatch(/^s3:\/\/bucket\/_submissions\/[0-9a-f-]{36}$/);
    expect(start).toMatchObject({ name: 'StartExecutionCommand', input: { stateMachineArn: 'arn:machine', name: 'my-job' } });
    expect(JSON.parse(String(start?.input.input))).toEqual({ exportId: 'my-job', userId: 'cli', source: { manifest } });
    expect(JSON.parse(stdout)).toEqual({ jobId: 'my-job', executionArn: 'arn:execution', manifest });
  });

  it('passes on what its options say, and takes the address of a list for the list', async () => {
    const options = ['--export-id', 'e', '--user-id', 'u', '--bucket', 'my-bucket', '--prefix', 'p/'];
    const tolerated = ['--tolerated-failure-count', '3', '--tolerated-failure-percentage', '2.5', '--fail-fast'];
    const { sent } = await run(['submit', 'https://host/list.jsonl', ...options, ...tolerated]);
    expect(sent).toHaveLength(1);
    expect(JSON.parse(String(sent[0]?.input.input))).toEqual({
      exportId: 'e',
      userId: 'u',
      source: { manifest: 'https://host/list.jsonl' },
      destination: { bucket: 'my-bucket', prefix: 'p/' },
      options: { toleratedFailureCount: 3, toleratedFailurePercentage: 2.5, failFast: true },
    });
  });

  it('says how the list is to be read, where its options do', async () => {
    const options = ['--format', 'csv', '--key-from', 'path', '--ignore-columns', 'id,My note', '--allow-empty'];
    const { sent } = await run(['submit', 'https://host/list.csv', ...options]);
    expect(JSON.parse(String(sent[0]?.input.input))).toMatchObject({
      source: { manifest: 'https://host/list.csv', format: 'csv', keyFrom: 'path', ignoreColumns: ['id', 'My note'], allowEmpty: true },
    });
  });

  it('takes the names of columns that hold commas as JSON', async () => {
    const { sent } = await run(['submit', 'https://host/list.csv', '--ignore-columns', `["a,b","it's"]`]);
    expect(JSON.parse(String(sent[0]?.input.input))).toMatchObject({ source: { ignoreColumns: ['a,b', "it's"] } });
    for (const wrong of ['[a,b]', '[1]']) expect((await run(['submit', 'list', '--ignore-columns', wrong])).exitCode).toBe(2);
  });

  it.each(['HTTPS://host/list', 'S3://lists/list.csv', 's3://bucket/_submissions/list'])(
    'takes %s for the address of a list',
    async (list) => {
      const { sent } = await run(['submit', list]);
      expect(sent.map(({ name }) => name)).toEqual(['StartExecutionCommand']);
      expect(JSON.parse(String(sent[0]?.input.input))).toMatchObject({ source: { manifest: list } });
    },
  );

  it.each([
    's3://bucket/exports/job-1/_export/job-1/run-1/failed.jsonl',
    'S3://other/p/_export/job-1/run-1/failed.jsonl',
    's3://bucket/list',
  ])('reads %s itself, from where the service takes no list', async (list) => {
    const { exitCode, sent } = await run(['submit', list], {}, undefined, {
      GetObjectCommand: { Body: Readable.from([Buffer.from('http://a/b\n')]) },
    });
    expect([exitCode, sent.map(({ name }) => name)]).toEqual([0, ['GetObjectCommand', 'PutObjectCommand', 'StartExecutionCommand']]);
    const [, Bucket, Key] = /^s3:\/\/([^/]+)\/(.+)$/i.exec(list) ?? [];
    expect(sent[0]?.input).toEqual({ Bucket, Key });
    expect(sent[1]?.input).toMatchObject({ Bucket: 'bucket', Body: Buffer.from('http://a/b\n') });
    expect(JSON.parse(String(sent[2]?.input.input))).toMatchObject({ source: { manifest: `s3://bucket/${String(sent[1]?.input.Key)}` } });
  });

  it('says why a list in S3 cannot be read', async () => {
    const refused = Object.assign(new Error('The specified key does not exist.'), { name: 'NoSuchKey', awsService: 'S3' });
    const { exitCode, stderr } = await run(['submit', 's3://bucket/gone'], {}, undefined, { GetObjectCommand: refused });
    expect([exitCode, stderr]).toEqual([
      1,
      'The list s3://bucket/gone cannot be read: S3 answered NoSuchKey: The specified key does not exist.\n',
    ]);
  });

  it('sends an empty list only if that is in order', async () => {
    const { exitCode, sent } = await run(['submit', await listFile(''), '--allow-empty']);
    expect([exitCode, sent.map(({ name }) => name)]).toEqual([0, ['PutObjectCommand', 'StartExecutionCommand']]);
    expect(JSON.parse(String(sent[1]?.input.input))).toMatchObject({ source: { allowEmpty: true } });
  });

  it('uploads a long list in parts', async () => {
    const line = `${'x'.repeat(1_023)}\n`;
    const { sent } = await run(['submit', await listFile(line.repeat(17 * 1_024)), '--json']);
    expect(sent.map(({ name }) => name)).toEqual([
      'CreateMultipartUploadCommand',
      'UploadPartCommand',
      'UploadPartCommand',
      'UploadPartCommand',
      'CompleteMultipartUploadCommand',
      'StartExecutionCommand',
    ]);
    const sizes = sent.filter(({ name }) => name === 'UploadPartCommand').map(({ input }) => (input.Body as Buffer).byteLength);
    expect(sizes).toEqual([8 * 1_024 * 1_024, 8 * 1_024 * 1_024, 1_024 * 1_024]);
  });

  it('refuses a list that is not there, a folder, and an empty one', async () => {
    const path = await listFile('');
    const blank = await listFile('\n \r\n');
    for (const [list, reason] of [
      [path, 'is empty'],
      [blank, 'is empty'],
      [`${path}.gone`, 'there is no such file'],
      [tmpdir(), 'it is a folder'],
    ] as const) {
      const { exitCode, stderr, sent } = await run(['submit', list]);
      expect([exitCode, sent]).toEqual([2, []]);
      expect(stderr).toContain(list);
      expect(stderr).toContain(reason);
    }
  });
});

describe('jobs and job', () => {
  it.each(['job', 'cancel'])('%s says how much of an id is needed', async (command) => {
    expect((await run([command, 'ab'])).stderr).toContain('There is no job ab: give the whole id, or at least its first 4 characters');
  });

  it('lists the active jobs as a table, and says that ended ones are not there', async () => {
    const { stdout, stderr } = await run(['jobs']);
    expect(stdout).toMatch(/^JOB {4}STATUS .*\njob-1 {2}DOWNLOADING +6 +10 +1 +1\.5 KB/);
    expect(stderr).toMatch(/^1 active job\. Ended jobs: npx export-worker jobs --all\. 2 coordinators live\.\n$/);
  });

  it('says that nobody runs them, and lists them when that cannot be known', async () => {
    const nobody = { live: [], silent: ['a', 'b'] };
    const dead = await run(['jobs'], { fleet: { look: async () => nobody, watch: async () => nobody } });
    expect(dead.stderr).toContain('No coordinator lives (2 silent): nothing moves until a service runs.');
    const look = () => Promise.reject(new Error('no permission'));
    const unknown = await run(['jobs'], { fleet: { look, watch: look } });
    expect(unknown).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('job-1') });
    expect(unknown.stderr).toContain('Whether coordinators live is not known: no permission.');
  });

  it('shows a job to programs as one JSON object without its token', async () => {
    const batches = { list: async () => [aSummary(0, { status: 'running' })] };
    const { stdout } = await run(['job', 'job-1', '--json'], { batches });
    expect(JSON.parse(stdout)).toMatchObject({
      jobId: 'job-1',
      totalTasks: 10,
      batches: { running: 1 },
      files: 's3://bucket/exports/job-1/',
    });
    expect(stdout).not.toContain(TOKEN);
  });

  it('shows a job to people, its token only as not answered', async () => {
    const { stdout } = await run(['job', 'job-1']);
    expect(stdout).toMatch(/Files +6 done, 1 failed, 10 in all/);
    expect(stdout).toMatch(/Token answered +not yet/);
    expect(stdout).not.toContain(TOKEN);
  });

  it('shows what has arrived of the files in hand, and for which host the others wait', async () => {
    const until = new Date(Date.now() + 300_000);
    const waiting = { pausedHost: 'h.test', pausedMs: 300_000, heartbeatAt: new Date(until.getTime() - 300_000).toISOString() };
    const rows = [0, 1].map((batchNo) => aSummary(batchNo, { status: 'running', bytes: 0, bytesInHand: 30_000_000, ...waiting }));
    const services = { batches: { list: async () => rows } };
    const { stdout } = await run(['job', 'job-1'], services);
    expect(stdout).toMatch(/Bytes +1\.5 KB, and 60\.0 MB of files in hand\nWaits for +h\.test until 2\S+Z\n/);
    expect(JSON.parse((await run(['job', 'job-1', '--json'], services)).stdout)).toMatchObject({
      bytesProcessed: 1_500,
      bytesInHand: 60_000_000,
      waits: [{ host: 'h.test', until: until.toISOString() }],
    });
  });

  it('says how many lines of its list were there before', async () => {
    const repeated = { ...job, plan: { totalTasks: 10, batchCount: 2, batchSize: 5, segmentPrefix: 'segments/', repeatedTasks: 3 } };
    const { stdout } = await run(['job', 'job-1'], { jobs: { find: async () => repeated, list: async () => [] } });
    expect(stdout).toMatch(/Twice +3 lines of the list were there before: each file counts once\n/);
  });

  it('says how many queued batches of a job wait until others have ended', async () => {
    const rows = [aSummary(0), ...[1, 2, 3].map((batchNo) => aSummary(batchNo, { status: 'queued' }))];
    const services = { batches: { list: async () => rows } };
    expect((await run(['job', 'job-1'], services)).stdout).toMatch(/Batches +1 succeeded, 3 queued \(2 of them until others end\)\n/);
    expect(JSON.parse((await run(['job', 'job-1', '--json'], services)).stdout)).toMatchObject({ batches: { queued: 3 }, waitForTurn: 2 });
  });

  it.each([['job'], ['cancel'], ['retry']])('%s exits with 1 for a job that is not there', async (command) => {
    const { exitCode, stdout, stderr, closed } = await run([command, 'nobody']);
    expect([exitCode, stdout, closed]).toEqual([1, '', 1]);
    expect(stderr).toContain('There is no job nobody');
  });
});

describe('a job with failures', () => {
  const at = { succeeded: { key: 's', size: 0 }, failed: { key: 'FAILED_0.jsonl', size: 1 } };
  const row = aSummary(0, { failed: 12, resultKeys: at });
  const failed = {
    ...job,
    status: 'FAILED' as const,
    failedTasks: 12,
    resultKey: 'manifest.json',
    error: { code: 'JobCompletedWithFailures' as const, message: 'first\nsecond' },
  };
  const lines = Array.from({ length: 12 }, (_, index) =>
    JSON.stringify({ index, url: 'u', key: `k-${index}`, code: 'HTTP_404', message: 'is\ngone', httpStatus: 404, attempts: 1 }),
  );
  const services = (send: () => Promise<unknown>): GivenServices => ({
    jobs: { find: async () => failed, list: async () => [] },
    batches: { list: async () => [row] },
    clients: { s3: { send } } as unknown as Services['clients'],
  });
  const readable = services(async () => ({ Body: Readable.from([Buffer.from(lines.join('\n'))]) }));

  it('counts them by reason, names the first, and says where all of them lie', async () => {
    const { stdout } = await run(['job', 'job-1'], readable);
    expect(stdout).toContain('s3://bucket/exports/job-1/_export/job-1/run-1/failed.jsonl');
    expect(stdout).toMatch(/Failed files:\n {2}12 × HTTP_404: is gone\n {6}k-0\n {6}k-1\n {6}k-2\n {6}… and 9 more\n$/);
  });

  it('tells programs the same', async () => {
    const json = JSON.parse((await run(['job', 'job-1', '--json'], readable)).stdout) as { failures: unknown[]; failureCounts: unknown };
    const { failures, failureCounts } = json;
    expect(failureCounts).toEqual({ HTTP_404: 12 });
    expect(failures).toHaveLength(10);
    expect(failures[0]).toMatchObject({ key: 'k-0', code: 'HTTP_404' });
  });

  it('is shown without them when they cannot be read', async () => {
    const { exitCode, stdout, stderr } = await run(
      ['job', 'job-1'],
      services(() => Promise.reject(new Error('denied'))),
    );
    expect([exitCode, stderr]).toEqual([0, 'The failed files cannot be listed: denied\n']);
    expect(stdout).toMatch(/Status +FAILED/);
  });

  it('has each line of its error in the column of values', async () => {
    expect((await run(['job', 'job-1'], readable)).stdout).toMatch(/\nError {11}JobCompletedWithFailures: first\n {16}second\n/);
  });
});

describe('watch', () => {
  it('says on Ctrl-C that the job goes on, however often the same Ctrl-C comes', async () => {
    const jobs = {
      find: async () => {
        process.emit('SIGINT');
        process.emit('SIGINT');
        return job;
      },
      list: async () => [],
    };
    const { exitCode, stderr } = await run(['watch', 'job-1'], { jobs });
    expect(exitCode).toBe(130);
    expect(stderr).toContain('Detached; the job goes on. Follow it again: npx export-worker watch job-1');
  });

  it('shows what has arrived of the files in hand, and for which hosts the others wait', async () => {
    const at = { status: 'running' as const, bytes: 0, pausedMs: 300_000, heartbeatAt: new Date().toISOString() };
    const rows = [{ pausedHost: 'h.test', bytesInHand: 60_000_000 }, { pausedHost: 'i.test' }, { pausedHost: 'j.test' }];
    const batches = { list: async () => rows.map((row, batchNo) => aSummary(batchNo, { ...at, ...row })) };
    const going = { ...job, failedTasks: 0 };
    const jobs = [going, { ...going, status: 'COMPLETED' as const }];
    const services = { jobs: { find: async () => jobs.shift(), list: async () => [] }, batches };
    const { stderr } = await run(['watch', 'job-1'], services);
    expect(stderr).toMatch(/^DOWNLOADING .* waits for h\.test \+2 until \d\d:\d\d:\d\d Z {2}60\.0 MB\nCOMPLETED /);
  });

  it.each([
    ['COMPLETED' as const, 0],
    ['FAILED' as const, 1],
    ['CANCELLED' as const, 1],
  ])('prints the job at each change and ends with a %s one with exit code %d', async (status, exitCode) => {
    const rows = [job, { ...job, status }];
    const jobs = { find: async () => rows.shift(), list: async () => [] };
    const { stdout, exitCode: actual } = await run(['watch', 'job-1', '--json'], { jobs });
    expect(stdout.trimEnd().split('\n').map((line) => (JSON.parse(line) as { status: string }).status)).toEqual(['DOWNLOADING', status]); // prettier-ignore
    expect(actual).toBe(exitCode);
  });
});

describe('cancel', () => {
  it('says that a job was decided before', async () => {
    const ended = { ...job, status: 'COMPLETED' as const };
    const { exitCode, stderr } = await run(['cancel', 'job-1'], { jobs: { find: async () => ended, list: async () => [] } });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('was not cancelled: it is COMPLETED');
  });

  it('says once what it waits for, and once more when that lasts: a finisher may live and not be allowed to answer', async () => {
    const held = { ...job, status: 'FINALIZING' as const };
    const { stderr } = await run(['cancel', 'job-1'], {
      jobs: { find: async () => held, list: async () => [] },
      cancelJob: {
        cancel: async (_jobId, _reason, onWait) => {
          for (let second = 0; second < 300; second++) onWait?.();
          return 'interrupted';
        },
      },
    });
    expect(stderr.split('\n').filter((line) => line.includes('being answered'))).toEqual([
      expect.stringContaining('after a minute without a sign of life'),
      expect.stringContaining('Ctrl-C is safe'),
    ]);
  });
});

describe('an error of AWS', () => {
  const failing = (error: Error) => {
    const fail = async () => {
      throw error;
    };
    return { jobs: { find: fail, list: fail } };
  };

  it('names the endpoint variable of a service that cannot be reached', async () => {
    const error = Object.assign(new Error(''), { code: 'ECONNREFUSED', awsService: 'DynamoDB' });
    const { exitCode, stderr } = await run(['jobs'], failing(error));
    expect(exitCode).toBe(1);
    expect(stderr).toContain('DynamoDB cannot be reached (ECONNREFUSED)');
    expect(stderr).toContain('AWS_ENDPOINT_URL_DYNAMODB');
  });

  it('is told in one line', async () => {
    const error = Object.assign(new Error('Requested resource not found'), { name: 'ResourceNotFoundException', awsService: 'DynamoDB' });
    expect((await run(['jobs'], failing(error))).stderr).toBe(
      'DynamoDB answered ResourceNotFoundException: Requested resource not found\n',
    );
  });

  it('of the configuration exits with 78 and tells every problem', async () => {
    let told = '';
    const output = { write: (text: string) => void (told += text), isTty: false, columns: 80 };
    expect(
      await runCli(['jobs'], { out: output, err: output }, () => Promise.reject(new ConfigurationError(['"AWS_REGION" is required']))),
    ).toBe(78);
    expect(told).toContain('"AWS_REGION" is required');
    expect(told).toContain('With `npm run local`: source .local/env first.');
  });
});
