import { expect, it } from '@jest/globals';
import { CredentialsUnavailable, SharedCredentials, type AwsIdentity } from '../../../../src/platform/aws/index.js';
import { deferred } from '../../../support/deferred.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

const FAR_MS = 3_600_000;
const NEVER = () => new Promise<AwsIdentity>(() => undefined);

/** Its source answers what the test says, one answer a fetch; the last one again and again. */
function credentialsFrom(...answers: (() => Promise<AwsIdentity>)[]) {
  const clock = newClock();
  const logger = new RecordingLogger();
  let fetches = 0;
  const shared = new SharedCredentials(() => (answers[Math.min(fetches++, answers.length - 1)] ?? NEVER)(), clock, logger);
  const keys = (name: string, lastsMs?: number): AwsIdentity => ({
    accessKeyId: name,
    secretAccessKey: 'secret',
    ...(lastsMs === undefined ? {} : { expiration: new Date(Date.parse(clock.nowIso()) + lastsMs) }),
  });
  return { shared, clock, logger, keys, answers, fetches: () => fetches };
}
const isKey = (name: string) => (identity: AwsIdentity) => identity.accessKeyId === name;

onEachClock('the credentials of all clients', () => {
  it('are fetched once for all who ask, and kept', async () => {
    const c = credentialsFrom();
    c.answers.push(async () => c.keys('a', FAR_MS));
    const asked = await Promise.all([c.shared.get(), c.shared.provider(), c.shared.get()]);
    expect(asked.map(({ accessKeyId }) => accessKeyId)).toEqual(['a', 'a', 'a']);
    expect(c.fetches()).toBe(1);
  });

  it('are kept by no client for itself: the SDK would copy what is not marked as memoized', () => {
    expect(credentialsFrom().shared.provider.memoized).toBe(true);
  });

  it('Refused credentials are replaced once: all callers share one fetch, and one who comes late finds it done', async () => {
    const c = credentialsFrom();
    c.answers.push(
      async () => c.keys('old', FAR_MS),
      async () => c.keys('new', FAR_MS),
    );
    await c.shared.get();
    await c.clock.advance(10_000);
    const refused = Array.from({ length: 100 }, () => c.shared.replace(isKey('old')));
    expect(await Promise.all(refused)).toEqual(refused.map(() => true));
    await c.clock.advance(10_000);
    expect(await c.shared.replace(isKey('old'))).toBe(true);
    expect(c.fetches()).toBe(2);
    expect((await c.shared.get()).accessKeyId).toBe('new');
    expect(c.logger.messages('warn')).toEqual(['AWS refuses our credentials before their end: new ones are fetched']);
  });

  it('Refused credentials that come again are worth no second call, and are asked for anew only after a while', async () => {
    const c = credentialsFrom();
    c.answers.push(async () => c.keys('same'));
    await c.shared.get();
    await c.clock.advance(10_000);
    for (let call = 0; call < 50; call++) expect(await c.shared.replace(isKey('same'))).toBe(false);
    expect(c.fetches()).toBe(2);
  });

  it('are renewed five minutes before their end, while they still serve', async () => {
    const c = credentialsFrom();
    const renewal = deferred<AwsIdentity>();
    c.answers.push(
      async () => c.keys('old', 600_000),
      () => renewal.promise,
    );
    await c.shared.get();
    await c.clock.advance(310_000);
    expect((await c.shared.get()).accessKeyId).toBe('old');
    renewal.resolve(c.keys('new', FAR_MS));
    await c.clock.advance(1);
    expect((await c.shared.get()).accessKeyId).toBe('new');
    expect(c.fetches()).toBe(2);
  });

  it('A silent source of credentials holds nobody for longer than 10 s, and in the pause that follows nobody at all', async () => {
    const c = credentialsFrom(NEVER);
    const failures: unknown[] = [];
    const ask = () => void c.shared.get().catch((error: unknown) => failures.push(error));
    ask();
    await c.clock.advance(9_000);
    expect(failures).toEqual([]);
    await c.clock.advance(1_100);
    ask();
    await c.clock.advance(1);
    expect(failures).toEqual(Array.from({ length: 2 }, () => expect.any(CredentialsUnavailable) as unknown));
    expect(String(failures[1])).toContain('There are no AWS credentials: their source has not answered for 10 s');
    expect(c.fetches()).toBe(1);
    expect(c.shared.problem).toContain('has not answered');
  });

  it('A silent source of credentials is asked anew, and what comes late is taken', async () => {
    const c = credentialsFrom();
    const first = deferred<AwsIdentity>();
    c.answers.push(() => first.promise, NEVER);
    c.shared.get().catch(() => undefined);
    await c.clock.advance(20_000);
    c.shared.get().catch(() => undefined);
    expect(c.fetches()).toBe(2);
    first.resolve(c.keys('late', FAR_MS));
    await c.clock.advance(1);
    expect((await c.shared.get()).accessKeyId).toBe('late');
    expect(c.shared.problem).toBeUndefined();
    expect(c.logger.messages('info')).toEqual(['AWS credentials can be had again']);
  });

  it('tell how long those in hand still serve when they cannot be renewed', async () => {
    const c = credentialsFrom();
    c.answers.push(
      async () => c.keys('old', 120_000),
      () => Promise.reject(Object.assign(new Error('Server responded with status: 403'), { name: 'CredentialsProviderError' })),
    );
    await c.shared.get();
    await c.clock.advance(10_000);
    expect((await c.shared.get()).accessKeyId).toBe('old');
    await c.clock.advance(1);
    expect(c.shared.problem).toMatch(/^There are no AWS credentials: Server responded with status: 403; those in hand end in 1\d\d s$/);
  });
});
