import type { SharedCredentials } from '../aws/index.js';
import type { Clock } from '../../shared/index.js';
import type { Dependency, DependencyCheck } from './dependency.js';
import { refusalOf } from './refusal.js';

const CHECK_CREDENTIALS = 'check the keys and the session token of the service, and its clock';
/** Nothing was sent: what it would have said is not known. */
export const NOT_ASKED = 'not asked: there are no credentials';
const NO_ANSWER = Symbol('no answer');

/** Asks all dependencies side by side, each for so long and no longer. Never rejects. */
export class DependencyChecks {
  constructor(
    private readonly dependencies: readonly Dependency[],
    private readonly credentials: Pick<SharedCredentials, 'get' | 'problem'>,
    private readonly clock: Clock,
  ) {}

  /** @param limitMs of each; the whole takes no longer */
  async ask(limitMs: number): Promise<DependencyCheck[]> {
    const [credentials, ...others] = await Promise.all([
      this.askCredentials(limitMs),
      ...this.dependencies.map((dependency) => this.askOne(dependency, limitMs)),
    ]);
    if (credentials.had) return [credentials.check, ...others];
    return [credentials.check, ...others.map((check) => (check.ok ? check : notAsked(check)))];
  }

  private async askCredentials(limitMs: number): Promise<{ had: boolean; check: DependencyCheck }> {
    const had = await this.within(limitMs, () =>
      this.credentials.get().then(
        () => 'had',
        () => 'none',
      ),
    );
    const reason = this.credentials.problem ?? (had === NO_ANSWER ? noAnswer(limitMs) : undefined);
    const check = { name: 'credentials', lasting: false, ...(reason === undefined ? { ok: true } : { ok: false, reason }) };
    return { had: had === 'had', check };
  }

  private async askOne({ name, resource, ask, mends, worksDenied = false }: Dependency, limitMs: number): Promise<DependencyCheck> {
    const away = { name, ok: false, lasting: false, resource } as const;
    try {
      if ((await this.within(limitMs, ask)) !== NO_ANSWER) return { name, ok: true, lasting: false };
      return { ...away, reason: noAnswer(limitMs) };
    } catch (error) {
      const { kind, reason } = refusalOf(error);
      if (kind === 'away') return { ...away, reason };
      const ok = kind === 'denied' && worksDenied;
      return { name, ok, lasting: !ok, resource, reason, mend: kind === 'unsigned' ? CHECK_CREDENTIALS : mends[kind] };
    }
  }

  /** Aborts the call at the limit and does not wait for its end: the SDK looks at the signal only while a request is under way. */
  private async within<T>(limitMs: number, call: (signal: AbortSignal) => Promise<T>): Promise<T | typeof NO_ANSWER> {
    const [ended, tooLong] = [new AbortController(), new AbortController()];
    const late = this.clock.sleep(limitMs, ended.signal).then((): typeof NO_ANSWER => {
      tooLong.abort();
      return NO_ANSWER;
    });
    const called = call(tooLong.signal);
    called.catch(() => undefined);
    try {
      return await Promise.race([called, late]);
    } finally {
      ended.abort();
    }
  }
}

function notAsked({ name }: DependencyCheck): DependencyCheck {
  return { name, ok: false, lasting: false, reason: NOT_ASKED };
}

function noAnswer(limitMs: number): string {
  return `no answer within ${limitMs / 1_000} s`;
}
