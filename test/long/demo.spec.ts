import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/local-aws.js';
import { Origin } from '../support/origin.js';
import { CommandProcess } from '../e2e/command-process.js';

describe('the demo', () => {
  let temporary: string;

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'demo-spec-'));
  });
  afterEach(() => rm(temporary, { recursive: true, force: true }));

  const start = (...args: string[]) => CommandProcess.start('infra/demo/main.js', args, { TMPDIR: temporary });

  /** The process id of the demo's service, which the events of its log carry in `coordinatorId`. */
  const servicePid = () =>
    eventually(async () => {
      const folder = (await readdir(temporary)).find((name) => name.startsWith('export-worker-demo-')) ?? '';
      const pid = /"coordinatorId":"[^"]*-(\d+)-[0-9a-f]{8}"/.exec(await readFile(join(temporary, folder, 'service.log'), 'utf8'))?.[1];
      return pid === undefined ? undefined : Number(pid);
    });

  it('exports its own files, proves them from outside, and leaves nothing behind', async () => {
    const { code, stdout, stderr } = await start('--json').ended;
    expect([stderr, code]).toEqual([expect.stringContaining('All 10 checks passed'), 0]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    const summary = JSON.parse(lines[0] ?? '') as Record<string, number>;
    expect(summary).toEqual({
      executionStatus: 'SUCCEEDED',
      jobId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      jobStatus: 'COMPLETED',
      totalTasks: 60,
      completedTasks: 59,
      failedTasks: 1,
      objectsVerified: 59,
      bytes: expect.any(Number),
      taskHeartbeats: expect.any(Number),
      mainLoopDelayP99Ms: expect.any(Number),
      durationMs: expect.any(Number),
    });
    expect(summary.bytes).toBeGreaterThan(60_000_000);
    expect(summary.taskHeartbeats).toBeGreaterThanOrEqual(2);
    expect(await readdir(temporary)).toEqual([]);
  });

  // The other faults are in test/long/demo-faults.spec.ts.
  it('exits with 1 and names the failed checks after a byte of an object was changed', async () => {
    const { code, stdout } = await start('--fault', 'flip-byte').ended;
    expect(stdout).toMatch(/FAILED objects: .*\/reports\/.* has other bytes/);
    expect(stdout).toMatch(/FAILED samples: .* other bytes than its source/);
    expect(code).toBe(1);
  });

  it('exports a list of the user, and lists what failed', async () => {
    const origin = await Origin.start();
    try {
      const list = join(temporary, 'urls.txt');
      await writeFile(list, `# mine\n${origin.file('/a.txt', 'first')}\n${origin.file('/b.txt', 'second')}\n`);
      const good = await start(list, '--json').ended;
      expect([good.stderr, good.code]).toEqual([expect.stringContaining('All 6 checks passed'), 0]);
      expect(JSON.parse(good.stdout)).toMatchObject({ totalTasks: 2, objectsVerified: 2, bytes: 11, jobStatus: 'COMPLETED' });

      await writeFile(list, `${JSON.stringify({ url: `${origin.url}/none.txt` })}\n`);
      const bad = await start(list).ended;
      expect(bad.code).toBe(1);
      expect(bad.stdout).toContain('  1 × HTTP_404: the source answered 404\n      none.txt\n');
      expect(bad.stdout).toContain('JobCompletedWithFailures');
      expect(bad.stdout).not.toContain('Objects');
    } finally {
      await origin.close();
    }
  });

  it('stops everything on Ctrl-C', async () => {
    const demo = start();
    await eventually(() => demo.stdout.includes('has started'));
    const pid = await servicePid();
    demo.signal('SIGINT');
    expect((await demo.ended).code).toBe(130);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(await readdir(temporary)).toEqual([]);
  });

  it('says so, with its last words, when the service ends on its own', async () => {
    const demo = start();
    await eventually(() => demo.stdout.includes('has started'));
    process.kill(await servicePid(), 'SIGKILL');
    const { code, stdout } = await demo.ended;
    expect(code).toBe(1);
    expect(stdout).toContain('The service ended on its own (SIGKILL); its last words:\n{"level":');
  });

  it('exits with 2 on a flag that it does not know, and on a list that is not there or empty', async () => {
    expect((await start('--unknown').ended).code).toBe(2);
    const missing = await start('none.txt').ended;
    expect([missing.code, missing.stdout]).toEqual([2, '']);
    expect(missing.stderr).toContain('The list none.txt cannot be read (there is no such file)');
    const list = join(temporary, 'blank.txt');
    await writeFile(list, '\n \n');
    const blank = await start(list).ended;
    expect([blank.code, blank.stdout, blank.stderr]).toEqual([2, '', expect.stringContaining(`${list} is empty`)]);
  });
});
