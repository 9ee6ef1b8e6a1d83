import { beforeEach, expect, it } from '@jest/globals';
import { ExpansionTurns } from '../../../../src/intake/application/expansion-turns.js';
import { aJobWithoutPlan, START_ISO } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';
import { HAIR_MS, newClock, onEachClock } from '../../../support/each-clock.js';
import { type FakeClock } from '../../../support/fake-clock.js';

const START_MS = Date.parse(START_ISO);
const never = new AbortController().signal;
let clock: FakeClock;
let jobs: InMemoryJobStateRepository;
let turns: ExpansionTurns;

beforeEach(() => {
  clock = newClock();
  jobs = new InMemoryJobStateRepository(undefined, clock).put(aJobWithoutPlan());
  turns = new ExpansionTurns(1, jobs, clock);
});

/** When the waiting job's row last said so. */
const stampedAfterS = () => Math.round((Date.parse(jobs.get('job-1').lastProgressAt) - START_MS) / 1_000);

onEachClock('an expansion that waits for its turn', () => {
  it('says so in its row, for it waits for capacity that exists', async () => {
    const first = deferred();
    const running = turns.run('another', never, () => first.promise);
    let expanded = false;
    const waiting = turns.run('job-1', never, async () => {
      expanded = true;
    });
    await clock.advance(120_000 + HAIR_MS);
    expect(stampedAfterS()).toBe(120);
    expect(expanded).toBe(false);
    first.resolve();
    await Promise.all([running, waiting]);
    expect(expanded).toBe(true);
    expect(clock.sleepers).toBe(0);
  });

  it('says so no more once no place has changed hands for ten minutes: those that run hang', async () => {
    const [first, second] = [deferred(), deferred()];
    const running = turns.run('another', never, () => first.promise);
    const next = turns.run('the-next', never, () => second.promise);
    const waiting = turns.run('job-1', never, () => Promise.resolve());
    await clock.advance(20 * 60_000);
    // The last stamp falls on the limit, give or take a hair.
    expect([570, 600]).toContain(stampedAfterS());
    first.resolve();
    await running;
    await clock.advance(20 * 60_000);
    expect([1_770, 1_800]).toContain(stampedAfterS());
    second.resolve();
    await Promise.all([next, waiting]);
  });

  it('is not run when it is interrupted first, and stamps no more', async () => {
    const first = deferred();
    const running = turns.run('another', never, () => first.promise);
    const interrupt = new AbortController();
    const waiting = turns.run('job-1', interrupt.signal, () => Promise.reject(new Error('it was run')));
    interrupt.abort();
    await waiting;
    await clock.advance(60_000);
    expect(jobs.gate.calls).not.toContain('touchProgress');
    first.resolve();
    await running;
  });

  it('goes on when a stamp fails', async () => {
    const first = deferred();
    jobs.gate.next('touchProgress', 'unavailable');
    const running = turns.run('another', never, () => first.promise);
    const waiting = turns.run('job-1', never, () => Promise.resolve());
    await clock.advance(60_000 + HAIR_MS);
    expect(stampedAfterS()).toBe(60);
    first.resolve();
    await Promise.all([running, waiting]);
  });
});
