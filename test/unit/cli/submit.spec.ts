import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { job, run } from '../../support/command-line.js';

const LIST = 's3://lists/list.jsonl';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function listFile(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'submit-spec-'));
  folders.push(folder);
  const path = join(folder, 'list.txt');
  await writeFile(path, text);
  return path;
}

describe('the options of submit', () => {
  it('pass on headers, content type, concurrency and metadata', async () => {
    const headers = ['--header', 'Authorization: Bearer a:b', '--header', 'x-tenant:7'];
    const { sent, exitCode } = await run(
      ['submit', LIST, ...headers, '--expect-content-type', 'application/pdf', '--max-concurrency', '8', '--metadata', '{"tenant":"a","n":1}'],
    ); // prettier-ignore
    expect(exitCode).toBe(0);
    expect(JSON.parse(String(sent[0]?.input.input))).toMatchObject({
      options: { headers: { Authorization: 'Bearer a:b', 'x-tenant': '7' }, expectContentType: 'application/pdf', maxConcurrency: 8 },
      metadata: { tenant: 'a', n: 1 },
    });
  });

  it.each([
    [['--name', 'a b'], '--name must be 1 to 80 of'],
    [['--name', 'n'.repeat(81)], '--name must be 1 to 80 of'],
    [['--name', '-foo'], 'not begin with -'],
    [['--prefix', 'exports'], '--prefix '],
    [['--bucket', 'No Bucket'], '--bucket is no bucket name'],
    [['--header', 'no-value'], '--header'],
    [['--header', 'host: elsewhere'], '--header holds "host"'],
    [['--expect-content-type', 'pdf'], '--expect-content-type is no media type'],
    [['--max-concurrency', '0'], '--max-concurrency must be at least 1'],
    [['--metadata', 'tenant=a'], '--metadata'],
    [['--metadata', '[1]'], '--metadata'],
    [['--metadata', JSON.stringify({ long: 'x'.repeat(5_000) })], 'metadata is over 4096 bytes'],
    [['--export-id', ''], '--export-id is empty'],
  ])('%j are refused with exit code 2 before anything is sent', async (options, reason) => {
    const { exitCode, stderr, sent, closed } = await run(['submit', await listFile('https://host/a\n'), ...options]);
    expect([exitCode, sent, closed]).toEqual([2, [], 0]);
    expect(stderr).toContain(reason);
  });

  it('show no value of a header that is refused', async () => {
    const { stderr } = await run(['submit', LIST, '--header', 'host: secret']);
    expect(stderr).not.toContain('secret');
  });

  it('-q prints the id only, so that a script can take it', async () => {
    const { stdout, stderr } = await run(['submit', LIST, '-q', '--name', 'mine']);
    expect([stdout, stderr]).toEqual(['mine\n', '']);
  });

  it('-q --wait shows no progress either', async () => {
    const jobs = { find: async () => ({ ...job, jobId: 'mine', status: 'COMPLETED' as const }) };
    const ended = { DescribeExecutionCommand: { status: 'SUCCEEDED' } };
    const { exitCode, stdout, stderr } = await run(['submit', LIST, '-q', '--wait', '--name', 'mine'], { jobs }, undefined, ended);
    expect([exitCode, stdout, stderr]).toEqual([0, 'mine\n', '']);
  });

  it('refuse a bucket that the service may not store in, where that is known', async () => {
    const to = (destinationBuckets?: string[]) =>
      run(['submit', LIST, '--bucket', 'other-bucket'], destinationBuckets === undefined ? {} : { destinationBuckets });
    expect(await to(['bucket'])).toMatchObject({
      exitCode: 2,
      sent: [],
      stderr: expect.stringContaining('--bucket is not one of ALLOWED_DESTINATION_BUCKETS'),
    });
    expect(await to(['bucket', 'other-bucket'])).toMatchObject({ exitCode: 0 });
    expect(await to()).toMatchObject({ exitCode: 0 });
  });

  it('need only what they send: no bucket for the address of a list, no tables without --wait', async () => {
    expect((await run(['submit', 'https://lists.test/list.jsonl'])).needed).toEqual(['AWS_REGION', 'STATE_MACHINE_ARN']);
    expect((await run(['submit', await listFile('https://host/a\n')])).needed).toEqual([
      'AWS_REGION',
      'STATE_MACHINE_ARN',
      'EXPORT_BUCKET',
    ]);
  });
});

describe('submit --dry-run', () => {
  it('says how many files a list names, and opens nothing', async () => {
    const { exitCode, stdout, sent, closed } = await run(['submit', '--dry-run', await listFile('https://host/a\nhttps://host/b\n')]);
    expect([exitCode, sent, closed]).toEqual([0, [], 0]);
    expect(stdout).toBe('The list is in order: 2 files. Nothing was sent\n');
  });

  it('says how many lines were there before', async () => {
    const list = await listFile('https://host/a\nhttps://host/a\nhttps://host/b\n');
    const { stdout } = await run(['submit', '--dry-run', list]);
    expect(stdout).toBe('The list is in order: 2 files. 1 line of the list was there before: each file counts once. Nothing was sent\n');
    expect(JSON.parse((await run(['submit', '--dry-run', '--json', list])).stdout)).toMatchObject({ files: 2, repeatedTasks: 1 });
  });

  it('reads a list in S3 with the permissions of whoever calls, and says why it cannot be read', async () => {
    const list = 's3://bucket/exports/job-1/_export/job-1/run-1/failed.jsonl';
    const found = await run(['submit', '--dry-run', list], {}, undefined, {
      GetObjectCommand: { Body: Readable.from([Buffer.from('{"url":"https://host/a"}\n')]) },
    });
    expect([found.exitCode, found.sent.map(({ name }) => name), found.needed]).toEqual([0, ['GetObjectCommand'], ['AWS_REGION']]);
    expect(found.stdout).toBe('The list is in order: 1 file. Nothing was sent\n');
    const refused = Object.assign(new Error('The specified key does not exist.'), { name: 'NoSuchKey', awsService: 'S3' });
    expect(await run(['submit', '--dry-run', list], {}, undefined, { GetObjectCommand: refused })).toMatchObject({
      exitCode: 1,
      stderr: `The list ${list} cannot be read: S3 answered NoSuchKey: The specified key does not exist.\n`,
    });
  });

  it('names each problem with its line and exits with 1', async () => {
    const list = await listFile('https://host/a\nhttps://other/a\n');
    const { exitCode, stderr } = await run(['submit', '--dry-run', list]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The list has 1 problem; nothing was sent:\n {2}line \d: /);
    const json = JSON.parse((await run(['submit', '--dry-run', '--json', list])).stdout) as { problems: unknown[] };
    expect(json).toMatchObject({ totalProblems: 1, problems: [{ reason: expect.any(String) }] });
  });

  it('says of a file that is not there so, and of a web address what to do', async () => {
    const gone = await run(['submit', '--dry-run', join(tmpdir(), 'no-such-list')]);
    expect([gone.exitCode, gone.stderr]).toEqual([2, expect.stringContaining('there is no such file')]);
    expect(await run(['submit', '--dry-run', 'https://host/list'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('fetch it first'),
    });
  });
});

describe('the list of a submission whose name is taken', () => {
  it('is removed again', async () => {
    const names: string[] = [];
    const send = async (command: { constructor: { name: string } }) => {
      names.push(command.constructor.name);
      if (command.constructor.name === 'StartExecutionCommand') throw Object.assign(new Error('taken'), { name: 'ExecutionAlreadyExists' });
      return {};
    };
    const clients = { s3: { send }, stepFunctions: { send } } as never;
    const { exitCode } = await run(['submit', await listFile('https://host/a\n'), '--name', 'taken'], { clients });
    expect([exitCode, names]).toEqual([1, ['PutObjectCommand', 'StartExecutionCommand', 'DeleteObjectCommand']]);
  });
});
