import { describe, expect, it } from '@jest/globals';
import type { HeldBatch, ReclaimTurn } from '../../../src/batches/index.js';
import type { Services } from '../../../src/cli/services.js';
import { aReclaim } from '../../support/builders.js';
import { aTurn, job, run, type GivenServices } from '../../support/command-line.js';

const held: HeldBatch = {
  jobId: 'job-1',
  batchNo: 7,
  type: 'download',
  run: 1,
  heldBy: 'host-1',
  lockToken: 1,
  attempts: 0,
  totalTasks: 5,
  completed: 2,
  failed: 0,
  lockAgeS: 900,
  heartbeatAgeS: 63,
  silentS: 63,
  ttlS: 90,
  share: 0.7,
  state: 'late',
};

describe('stale', () => {
  const services: GivenServices = {
    staleMonitor: { list: async (limit) => ({ counts: { healthy: 2, late: 1, stale: 0 }, batches: [held].slice(0, limit) }) },
  };

  it('shows holders and ages as a table, and how many are in which state', async () => {
    const { exitCode, stdout, stderr } = await run(['stale'], services);
    expect(stdout).toMatch(/^JOB +BATCH +HELD BY +FOR +BEAT +PROGRESS +TTL +STATE\n/);
    expect(stdout).toMatch(/\njob-1 +7 +host-1 +15m00s +1m03s +- +70% +late\n$/);
    expect([exitCode, stderr]).toEqual([0, '3 running: 2 healthy, 1 late, 0 stale (the first 1 are shown). 2 coordinators live.\n']);
  });

  it('tells programs the same', async () => {
    expect(JSON.parse((await run(['stale', '--json'], services)).stdout)).toEqual({
      counts: { healthy: 2, late: 1, stale: 0 },
      batches: [held],
    });
  });

  it('says that nothing runs', async () => {
    expect(await run(['stale'])).toMatchObject({ exitCode: 0, stdout: '', stderr: 'No running batches. 2 coordinators live.\n' });
  });
});

describe('validate', () => {
  const nobody = { live: [], silent: ['coordinator-9'] };
  const validated = async (services: GivenServices) => {
    const { exitCode, stdout, stderr } = await run(['validate'], services);
    const json = await run(['validate', '--json'], services);
    expect(json.exitCode).toBe(exitCode);
    return { exitCode, stdout, stderr, json: JSON.parse(json.stdout) as Record<string, unknown> };
  };

  it('exits with 0 and says so when there is nothing to find', async () => {
    const nothing = '1 active job, no batch silent for too long, no answer overdue. 2 coordinators live.\n';
    expect(await validated({})).toMatchObject({ exitCode: 0, stdout: '', stderr: nothing, json: { problems: [], activeJobs: 1 } });
  });

  it('exits with 1 and shows the batches that should have been reclaimed', async () => {
    const { exitCode, stdout, stderr, json } = await validated({ validateLeases: { list: async () => [held] } });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('1 batch should have been reclaimed')]);
    expect(stdout).toContain('host-1');
    expect(json).toMatchObject({ overdue: [held], problems: [expect.stringContaining('reclaim')] });
  });

  it('exits with 1 when jobs wait and no coordinator lives, also not when it is watched', async () => {
    const dead: GivenServices = { fleet: { look: async () => nobody, watch: async () => nobody } };
    const { exitCode, stderr, json } = await validated(dead);
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^No coordinator lives \(silent: coordinator-9\), and 1 active job waits/),
    ]);
    expect(json).toMatchObject({ coordinators: nobody, activeJobs: 1 });
    const beating: GivenServices = { fleet: { look: async () => nobody, watch: async () => ({ live: ['slow clock'], silent: [] }) } };
    expect(await validated(beating)).toMatchObject({ exitCode: 0 });
  });

  it('exits with 0 when nobody lives and nothing is to be done, and watches nobody then', async () => {
    const fleet: Services['fleet'] = { look: async () => nobody, watch: () => Promise.reject(new Error('watched')) };
    const jobs = { find: async () => undefined, list: async () => [] };
    expect(await validated({ fleet, jobs })).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('No coordinator lives (1 silent)'),
    });
  });

  it('exits with 1 when a job stays FINALIZING', async () => {
    const { exitCode, stderr, json } = await validated({ stuckFinishes: { list: async () => [job] } });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('1 job stays FINALIZING for minutes (job-1)')]);
    expect(json).toMatchObject({ finalizing: ['job-1'] });
  });
});

describe('history', () => {
  const asked: unknown[] = [];
  const services: GivenServices = {
    reclaims: {
      ofJob: async (jobId, limit) => {
        asked.push([jobId, limit]);
        return [aReclaim()];
      },
      recent: async (limit) => {
        asked.push(limit);
        return [aReclaim(), aReclaim({ jobId: 'job-2', outcome: 'given-up' })];
      },
    },
  };

  it('lists the reclaims of all jobs, or of one, up to a limit', async () => {
    const { stdout } = await run(['history'], services);
    expect(stdout).toMatch(
      /^RECLAIMED AT +JOB +BATCH +OUTCOME +TRY +HELD BY +SILENT +DONE\n01-01 00:00:00 +job-1 +0 +requeued +1 +the dead +2m00s +2\n/,
    );
    const wide = await run(['history', '--wide'], services);
    expect(wide.stdout).toMatch(/\n2026-01-01T00:00:00\.000Z +job-1 +0 +requeued +1 +the dead +15m00s +2m00s +2 +1 +me\n/);
    expect(JSON.parse((await run(['history', 'job-1', '--limit', '3', '--json'], services)).stdout)).toEqual([aReclaim()]);
    expect(asked).toEqual([100, 100, ['job-1', 3]]);
  });

  it('says that there are none', async () => {
    expect(await run(['history'])).toMatchObject({ exitCode: 0, stdout: '', stderr: 'No reclaims\n' });
    expect(await run(['history', 'job-9'])).toMatchObject({ stdout: '', stderr: 'No reclaims of job job-9\n' });
  });
});

describe('reclaim', () => {
  const previewOf = (watchMs: number): Services['previewReclaim'] => ({
    list: async () => ({
      watchMs,
      batches: [
        { ...held, would: { kind: 'requeue', attempts: 2 } },
        { ...held, would: { kind: 'give-up' } },
      ],
    }),
  });
  const taken = aTurn({ running: 1, stale: 1, requeued: 1, reclaims: [aReclaim()] });
  /** Answers these turns, one after the other. */
  const reclaimer = (...turns: ReclaimTurn[]) => {
    const calls: string[] = [];
    const reclaim: Services['reclaim'] = {
      runOnce: async () => {
        calls.push('runOnce');
        return turns.shift() ?? aTurn();
      },
      idle: async () => void calls.push('idle'),
    };
    return { calls, services: { reclaim, previewReclaim: previewOf(0) } };
  };

  it('--dry-run lists what would be taken, says on what condition, and takes nothing', async () => {
    const { calls, services } = reclaimer();
    const { exitCode, stdout, stderr } = await run(['reclaim', '--dry-run'], { ...services, previewReclaim: previewOf(40_000) });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/ WOULD BE\njob-1 .* try 2\njob-1 .* given up\n$/);
    expect(stderr).toContain('if their holders stay silent for 40 s more. Stored times alone never condemn');
    expect(calls).toEqual([]);
    const { batches, watchS } = JSON.parse((await run(['reclaim', '--dry-run', '--json'], services)).stdout) as Record<string, unknown>;
    expect([watchS, batches]).toEqual([0, expect.arrayContaining([expect.objectContaining({ batchNo: 7, would: { kind: 'give-up' } })])]);
  });

  it('has nothing to watch when no batch would be silent for its TTL by then, and says so', async () => {
    const { calls, services } = reclaimer();
    const { previewReclaim: _preview, ...rest } = services;
    const nothing = 'Nothing to reclaim: no running batch would be silent for its TTL in 40 s\n';
    for (const args of [['reclaim'], ['reclaim', '--dry-run']])
      expect(await run(args, rest)).toMatchObject({ exitCode: 0, stdout: '', stderr: nothing });
    expect(JSON.parse((await run(['reclaim', '--json'], rest)).stdout)).toMatchObject({ requeued: 0, reclaims: [] });
    expect(calls).toEqual([]);
  });

  it('looks, watches, and takes what is still silent, with everything that belongs to it', async () => {
    const { calls, services } = reclaimer(aTurn({ running: 1 }), taken);
    const { exitCode, stdout, stderr } = await run(['reclaim'], services);
    expect(exitCode).toBe(0);
    expect(calls).toEqual(['runOnce', 'runOnce', 'idle']);
    expect(stdout).toContain('requeued');
    expect(stdout).toContain('the dead');
    expect(stderr).toBe('1 requeued, 0 given up, 0 moved by others meanwhile, 0 failed\n');
  });

  it('takes further turns after one that doubts itself or leaves some, and tells programs the sum', async () => {
    const { services } = reclaimer(aTurn(), aTurn({ stale: 9, doubted: true }), { ...taken, left: 1 }, { ...taken, givenUp: 1 });
    const { stdout } = await run(['reclaim', '--json'], services);
    expect(JSON.parse(stdout)).toEqual({ requeued: 2, givenUp: 1, moved: 0, failed: 0, reclaims: [aReclaim(), aReclaim()] });
  });

  it.each([
    ['whole', [aTurn({ endsLook: false }), aTurn({ beginsLook: false })]],
    [
      'begun while it watched, and then a whole one',
      [aTurn({ beginsLook: false }), aTurn({ endsLook: false }), aTurn({ beginsLook: false })],
    ],
    ['that doubted itself, and then a whole one', [aTurn({ doubted: true, endsLook: false }), aTurn({ beginsLook: false }), aTurn()]],
  ])('goes on until it has taken of a look that is %s', async (_case, turns) => {
    const { calls, services } = reclaimer(aTurn(), ...turns, { ...taken, requeued: 99 });
    const { stderr } = await run(['reclaim'], services);
    expect(calls.filter((call) => call === 'runOnce')).toHaveLength(1 + turns.length);
    expect(stderr).not.toContain('99');
  });

  it('exits with 1 when some could not be taken, and does not try them for ever', async () => {
    const { calls, services } = reclaimer(aTurn(), aTurn({ stale: 9, failed: 8, left: 1 }));
    const { exitCode, stderr } = await run(['reclaim'], services);
    expect([exitCode, stderr]).toEqual([1, '0 requeued, 0 given up, 0 moved by others meanwhile, 8 failed\n']);
    expect(calls).toHaveLength(3);
  });

  it('on Ctrl-C while it watches takes nothing, and says so', async () => {
    const { calls, services } = reclaimer();
    const runOnce = async () => {
      calls.push('runOnce');
      process.emit('SIGINT');
      return aTurn({ running: 1 });
    };
    const { exitCode, stdout, stderr } = await run(['reclaim'], {
      reclaim: { ...services.reclaim, runOnce },
      previewReclaim: previewOf(40_000),
    });
    expect([exitCode, stdout, stderr]).toEqual([130, '', 'Left: nothing was taken\n']);
    expect(calls).toEqual(['runOnce']);
  });

  it.each([
    ['has taken none', aTurn({ stale: 1, doubted: true }), 130, 'Left: nothing was taken\n'],
    ['has taken some', { ...taken, left: 1 }, 0, '1 requeued, 0 given up, 0 moved by others meanwhile, 0 failed\n'],
  ])('on Ctrl-C in a turn ends with this turn, which %s, and waits for Step Functions no longer', async (_case, turn, code, told) => {
    const { calls, services } = reclaimer(aTurn());
    let stopped = 0;
    const runOnce = async () => {
      if (calls.push('runOnce') === 1) return aTurn();
      process.emit('SIGINT');
      return turn;
    };
    const { exitCode, stderr } = await run(['reclaim'], {
      ...services,
      reclaim: { ...services.reclaim, runOnce },
      completeJob: { idle: async () => undefined, stop: async () => void stopped++ },
    });
    expect([exitCode, stderr, stopped]).toEqual([code, told, 1]);
    expect(calls).toEqual(['runOnce', 'runOnce', 'idle']);
  });
});
