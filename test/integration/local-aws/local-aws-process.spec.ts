import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { listen } from '../../../infra/local-aws/listen.js';
import { createAwsClients, eventually } from '../../support/local-aws.js';

const MAIN = fileURLToPath(new URL('../../../dist/infra/local-aws/main.js', import.meta.url));

// Processes start, one after another.

interface Announcement {
  jobsTable: string;
  coordinators: { pid: number; healthUrl: string }[];
  environment: Record<string, string>;
}

describe('the process of the embedded AWS', () => {
  let directory: string;
  let started: ChildProcess[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'local-aws-'));
    started = [];
  });

  afterEach(async () => {
    for (const child of started) child.kill('SIGTERM');
    await eventually(() => started.every((child) => child.exitCode !== null || child.signalCode !== null));
    await rm(directory, { recursive: true });
  });

  function launch(...flags: string[]) {
    const child = spawn(process.execPath, [MAIN, ...flags], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    started.push(child);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { child, exited, output: () => output, errors: () => errors };
  }

  async function announced(launched: ReturnType<typeof launch>): Promise<Announcement> {
    return JSON.parse(await eventually(() => launched.output().endsWith('\n') && launched.output())) as Announcement;
  }

  it('announces everything on one line, runs a service, says when it dies, and ends with exit code 0', async () => {
    const requestLog = join(directory, 'requests.jsonl');
    const local = launch('--json', '--coordinators', '2', '--request-log', requestLog);
    const { coordinators, jobsTable, environment } = await announced(local);
    expect(local.output().split('\n')).toHaveLength(2);
    expect(environment['DYNAMODB_JOBS_TABLE']).toBe(jobsTable);
    for (const { healthUrl } of coordinators) expect((await fetch(healthUrl)).status).toBe(200);

    const [killed, survivor] = coordinators.map(({ pid }) => pid);
    process.kill(killed ?? 0, 'SIGKILL');
    await eventually(() => local.errors().includes(`Coordinator ${killed} ended (SIGKILL)`));

    local.child.kill('SIGTERM');
    // npm passes on what its process group got.
    await sleep(50);
    local.child.kill('SIGTERM');
    expect(await local.exited).toBe(0);
    expect(() => process.kill(survivor ?? 0, 0)).toThrow();
    const lines = (await readFile(requestLog, 'utf8')).trim().split('\n');
    const operations = lines.map((line) => (JSON.parse(line) as { operation: string }).operation);
    const created = operations.indexOf('CreateStateMachine');
    const resources = ['CreateQueue', 'CreateTable', 'PutBucketLifecycleConfiguration'];
    expect(operations.slice(0, created)).toEqual(expect.arrayContaining(resources));
    expect(operations.slice(created + 1)).toContain('GetQueueAttributes');
  });

  it('tells a person where things are, and leaves a file that a shell can take its environment from', async () => {
    const local = launch('--coordinators', '1');
    await eventually(() => local.output().includes('npx export-worker submit'));
    expect(local.output()).toContain('source .local/env');
    expect(
      Math.max(
        ...local
          .output()
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(80);
    // People read the terminal; what services log is for a file.
    expect(local.errors()).toBe('');
    const log = join(directory, '.local/logs/coordinator-1.log');
    await eventually(async () => (await readFile(log, 'utf8')).includes('"msg":"Service started"'));

    const script = '. .local/env; echo "$EXPORT_BUCKET $AWS_PROFILE"';
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: directory, env: { AWS_PROFILE: 'mine' } });
    expect(stdout.trim()).toBe('local-exports');
  });

  it('refuses wrong flags with exit code 2', async () => {
    for (const flags of [['--coordinators', 'many'], ['--port', '0'], ['--unknown'], ['excess']]) {
      const local = launch(...flags);
      expect(await local.exited).toBe(2);
      expect(local.errors()).toMatch(/error:/);
    }
  });

  it('says which port is in use', async () => {
    const other = createServer();
    const port = new URL(await listen(other)).port;
    const local = launch('--port', port, '--coordinators', '0');
    expect(await local.exited).toBe(1);
    expect(local.errors()).toContain(`Port ${port} is in use`);
    await new Promise((resolve) => other.close(resolve));
  });

  it('keeps a data directory to itself while it lives, and only then', async () => {
    const flags = ['--json', '--coordinators', '0', '--data-dir', join(directory, 'data')];
    const first = launch(...flags);
    const { jobsTable, environment } = await announced(first);
    const second = launch(...flags);
    expect(await second.exited).toBe(1);
    expect(second.errors()).toContain(`is in use by process ${first.child.pid}`);

    const clients = createAwsClients(environment);
    await clients.documents.send(new PutCommand({ TableName: jobsTable, Item: { jobId: 'one' } }));
    clients.destroy();
    first.child.kill('SIGKILL');
    await eventually(() => first.child.signalCode === 'SIGKILL');
    await announced(launch(...flags));
  });
});
