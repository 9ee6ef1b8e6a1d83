import { AppError, toLoggable, type AppLogger, type Clock } from '../../shared/index.js';
import type { SharedCredentials } from '../aws/index.js';
import type { LifecyclePart } from '../lifecycle.js';
import type { DependencyChecks } from './dependency-checks.js';

/** How long a start waits for credentials. */
const CREDENTIALS_PATIENCE_MS = 30_000;
const LOOK_MS = 500;
/** Longer than a probe's: nobody waits for it. */
const ASK_LIMIT_MS = 5_000;

/** Something of the environment has to be changed: exit code 78. */
export const AWS_UNUSABLE = 'AWS_UNUSABLE';

/**
 * The first thing that a start does. Without credentials it ends after half a minute. What is missing, or refuses us, ends it too, each one
 * named with its mend, because waiting does not help. What is away does not: an outage must not end a fleet that starts, and readiness tells of it.
 */
export class StartCheck implements LifecyclePart {
  private readonly leaving = new AbortController();

  constructor(
    private readonly checks: Pick<DependencyChecks, 'ask'>,
    private readonly credentials: Pick<SharedCredentials, 'get'>,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** @throws AppError `NO_CREDENTIALS` or `AWS_UNUSABLE` (fatal) */
  async start(): Promise<void> {
    await this.awaitCredentials();
    if (this.leaving.signal.aborted) return;
    const failed = (await this.checks.ask(ASK_LIMIT_MS)).filter(({ ok, reason }) => !ok || reason !== undefined);
    for (const { name, ok, lasting, ...said } of failed) {
      const fields = { dependency: name, ...said };
      if (lasting) this.logger.error('A dependency is missing or refuses us', fields);
      else this.logger.warn(ok ? 'A dependency cannot be asked' : 'A dependency is away', fields);
    }
    const lasting = failed.filter((check) => check.lasting).map(({ name, resource }) => `${name} (${resource})`);
    if (lasting.length === 0) return;
    throw new AppError(AWS_UNUSABLE, `Missing, or refusing this service: ${lasting.join(', ')}`, { disposition: 'fatal' });
  }

  quiesce(): void {
    this.leaving.abort();
  }

  private async awaitCredentials(): Promise<void> {
    const endsAt = this.clock.monotonicMs() + CREDENTIALS_PATIENCE_MS;
    while (!this.leaving.signal.aborted) {
      try {
        await this.credentials.get();
        return;
      } catch (error) {
        const now = this.clock.monotonicMs();
        if (now >= endsAt) throw noCredentials(error);
        await this.clock.sleepUntil(Math.min(endsAt, now + LOOK_MS), this.leaving.signal);
      }
    }
  }
}

function noCredentials(cause: unknown): AppError {
  const mend = "check the task's role and its credentials endpoint (AWS_CONTAINER_CREDENTIALS_…), the profile, or the access keys";
  const message = `No AWS credentials for ${CREDENTIALS_PATIENCE_MS / 1_000} s: ${toLoggable(cause).message}; ${mend}`;
  return new AppError('NO_CREDENTIALS', message, { disposition: 'fatal', cause });
}
