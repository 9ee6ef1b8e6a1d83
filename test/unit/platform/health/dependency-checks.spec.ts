import { expect, it } from '@jest/globals';
import type { Dependency } from '../../../../src/platform/health/dependency.js';
import { DependencyChecks } from '../../../../src/platform/health/dependency-checks.js';
import { HealthService } from '../../../../src/platform/health/health.service.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

const KEYS = { accessKeyId: 'a', secretAccessKey: 'b' };
const HAD = { get: async () => KEYS, problem: undefined };
const NONE = { get: () => Promise.reject(new Error('none')), problem: 'There are no AWS credentials: none' };
const said = (name: string, httpStatusCode?: number, message = name) =>
  Object.assign(new Error(message), { name, ...(httpStatusCode === undefined ? {} : { $metadata: { httpStatusCode } }) });
const NEVER = () => new Promise<void>(() => undefined);

const queue = (ask: Dependency['ask'], over: Partial<Dependency> = {}): Dependency => ({
  name: 'jobs-queue',
  resource: 'https://sqs.test/jobs',
  ask,
  mends: { missing: 'create it', denied: 'allow it' },
  ...over,
});
const answering = (reason: Error) => queue(() => Promise.reject(reason));
const checksOf = (...dependencies: Dependency[]) => new DependencyChecks(dependencies, HAD, newClock());

onEachClock('a dependency', () => {
  it.each([
    [said('ResourceNotFoundException', 400), 'ResourceNotFoundException (400)', 'create it'],
    [said('QueueDoesNotExist', 400), 'QueueDoesNotExist (400)', 'create it'],
    [said('NotFound', 404), 'NotFound (404)', 'create it'],
    [said('PermanentRedirect', 301), 'PermanentRedirect (301)', 'create it'],
    [said('ValidationException', 400, 'no such index'), 'ValidationException (400): no such index', 'create it'],
    [said('AccessDenied', 403), 'AccessDenied (403)', 'allow it'],
    [said('AccessDeniedException', 400), 'AccessDeniedException (400)', 'allow it'],
    [said('SignatureDoesNotMatch', 403), 'SignatureDoesNotMatch (403)', expect.stringContaining('keys') as unknown],
    [said('ExpiredTokenException', 400), 'ExpiredTokenException (400)', expect.stringContaining('keys') as unknown],
  ])('that answers %s is named with what helps, and waiting does not', async (error, reason, mend) => {
    const [, check] = await checksOf(answering(error)).ask(2_000);
    expect(check).toEqual({ name: 'jobs-queue', ok: false, lasting: true, resource: 'https://sqs.test/jobs', reason, mend });
  });

  it.each([
    [said('InternalServerError', 500), 'InternalServerError (500)'],
    [said('ThrottlingException', 400), 'ThrottlingException (400)'],
    [said('ValidationException', 400, 'Cannot read from backfilling global secondary index'), 'ValidationException (400)'],
    [Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  ])('that answers %s is away, and may come back', async (error, reason) => {
    const [, check] = await checksOf(answering(error)).ask(2_000);
    expect(check).toEqual({ name: 'jobs-queue', ok: false, lasting: false, resource: 'https://sqs.test/jobs', reason });
  });

  it('that the work does without being asked is in order, and says that it could not be asked', async () => {
    const [, check] = await checksOf(queue(() => Promise.reject(said('AccessDenied', 403)), { worksDenied: true })).ask(2_000);
    expect(check).toMatchObject({ ok: true, lasting: false, reason: 'AccessDenied (403)', mend: 'allow it' });
  });

  it('is not blamed for credentials that are not there', async () => {
    const noIdentity = queue(() => NONE.get().then(() => undefined));
    const [credentials, check] = await new DependencyChecks([noIdentity], NONE, newClock()).ask(2_000);
    expect(credentials).toMatchObject({ name: 'credentials', ok: false, reason: NONE.problem });
    expect(check).toMatchObject({ ok: false, reason: 'not asked: there are no credentials' });
  });

  it('Readiness answers within its limit: the silent ones are waited for side by side, and their calls are aborted', async () => {
    const clock = newClock();
    const aborted: boolean[] = [];
    const silent = queue((signal) => {
      signal.addEventListener('abort', () => aborted.push(true));
      return NEVER();
    });
    const health = new HealthService(new DependencyChecks([silent, silent, silent], HAD, clock), clock, new RecordingLogger());
    let answer: unknown;
    void health.dependencies().then((checks) => (answer = checks));
    await clock.advance(1_900);
    expect(answer).toBeUndefined();
    await clock.advance(200);
    expect(answer).toMatchObject([{ ok: true }, ...Array.from({ length: 3 }, () => ({ ok: false, reason: 'no answer within 2 s' }))]);
    expect(aborted).toHaveLength(3);
    expect(clock.sleepers).toBe(0);
  });

  it('is told in the log once when it goes, and once when it is back', async () => {
    const clock = newClock();
    const logger = new RecordingLogger();
    let error: Error | undefined = said('QueueDoesNotExist', 400);
    const moody = queue(() => (error === undefined ? Promise.resolve() : Promise.reject(error)));
    const health = new HealthService(new DependencyChecks([moody], HAD, clock), clock, logger);
    for (let probe = 0; probe < 3; probe++) {
      await health.dependencies();
      await clock.advance(6_000);
    }
    error = undefined;
    await health.dependencies();
    expect(logger.events).toMatchObject([
      { level: 'warn', message: 'A dependency cannot be used', fields: { dependency: 'jobs-queue', mend: 'create it' } },
      { level: 'info', message: 'A dependency can be used again', fields: { dependency: 'jobs-queue' } },
    ]);
  });
});
