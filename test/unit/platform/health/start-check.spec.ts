import { expect, it } from '@jest/globals';
import type { DependencyCheck } from '../../../../src/platform/health/dependency.js';
import { StartCheck } from '../../../../src/platform/health/start-check.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

const KEYS = { accessKeyId: 'a', secretAccessKey: 'b' };
const there = (name: string): DependencyCheck => ({ name, ok: true, lasting: false });
const missing = (name: string): DependencyCheck => ({
  name,
  ok: false,
  lasting: true,
  resource: 'nope',
  reason: 'NotFound (404)',
  mend: 'create it',
});

function aStart(checks: DependencyCheck[], get: () => Promise<typeof KEYS> = async () => KEYS) {
  const clock = newClock();
  const logger = new RecordingLogger();
  return { check: new StartCheck({ ask: async () => checks }, { get }, clock, logger), clock, logger };
}

onEachClock('the check at start', () => {
  it('lets a service start that has all it needs, and says nothing', async () => {
    const { check, logger } = aStart([there('jobs-table')]);
    await check.start();
    expect(logger.events).toEqual([]);
  });

  it('A start ends when something is missing: each one is named with its mend', async () => {
    const { check, logger } = aStart([there('jobs-table'), missing('batches-table'), missing('export-bucket')]);
    const reason = 'Missing, or refusing this service: batches-table (nope), export-bucket (nope)';
    await expect(check.start()).rejects.toMatchObject({ code: 'AWS_UNUSABLE', disposition: 'fatal', message: reason });
    const fields = { resource: 'nope', reason: 'NotFound (404)', mend: 'create it' };
    expect(logger.events).toEqual(
      ['batches-table', 'export-bucket'].map((dependency) => ({
        level: 'error',
        message: 'A dependency is missing or refuses us',
        fields: { dependency, ...fields },
      })),
    );
  });

  it('goes on without what is away, because it may come back', async () => {
    const { check, logger } = aStart([{ name: 'jobs-queue', ok: false, lasting: false, reason: 'ECONNREFUSED' }]);
    await check.start();
    expect(logger.messages('warn')).toEqual(['A dependency is away']);
  });

  it('A start without credentials ends after half a minute, with the reason', async () => {
    const { check, clock } = aStart([], () => Promise.reject(new Error('their source has not answered for 10 s')));
    let failure: unknown;
    void check.start().catch((error: unknown) => (failure = error));
    await clock.advance(29_000);
    expect(failure).toBeUndefined();
    await clock.advance(2_000);
    expect(failure).toMatchObject({ code: 'NO_CREDENTIALS', message: expect.stringContaining('has not answered for 10 s') as unknown });
    expect(clock.sleepers).toBe(0);
  });

  it('waits for credentials no longer once a signal has come', async () => {
    const { check, clock } = aStart([missing('jobs-table')], () => Promise.reject(new Error('none')));
    const start = check.start();
    await clock.advance(1_000);
    check.quiesce();
    await start;
    expect(clock.sleepers).toBe(0);
  });
});
