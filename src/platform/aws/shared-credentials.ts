import { SystemClock, toLoggable, type AppLogger, type Clock, type MonotonicMs } from '../../shared/index.js';
import { fetchFromChain, type AwsIdentity } from './credentials-chain.js';

/** Credentials that end sooner than this are renewed, while they still serve. */
const RENEW_BEFORE_MS = 5 * 60_000;
/** How long a fetch is waited for: the SDK waits for ever on an endpoint that takes the connection and is silent. */
const FETCH_LIMIT_MS = 10_000;
/** After a fetch, until the next one; doubled by each that fails in a row. */
const PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

/** There are no credentials to sign a call with. The `cause` is what their source said, if it said anything. */
export class CredentialsUnavailable extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`There are no AWS credentials: ${reason}`, options);
    // Not the SDK's `CredentialsProviderError`, which stands for a source that is not set up: this one may pass.
    this.name = 'CredentialsProviderUnavailable';
  }
}

interface Failure {
  error: CredentialsUnavailable;
  inARow: number;
}

/**
 * The credentials of this process, one set for all clients and threads.
 *
 *   none ──fetch──▶ known ──5 min before its end──▶ known, and fetched beside ──▶ known
 *                     └──refused by AWS (ExpiredToken …)──▶ fetched for all callers at once ──▶ known, or as before
 *
 * One fetch at a time. One that fails or takes more than 10 s is followed by a pause (5 s, doubled up to 60 s), in which callers are told so
 * at once; what a late one brings is taken all the same. Not guaranteed: that credentials that were renewed are accepted.
 */
export class SharedCredentials {
  /** As the SDK's clients take it. They must not keep a copy of their own: a forced fetch would not reach it. */
  readonly provider: { (): Promise<AwsIdentity>; memoized: boolean };
  private known: AwsIdentity | undefined;
  private fetching: Promise<AwsIdentity> | undefined;
  private failure: Failure | undefined;
  private nextFetchAt: MonotonicMs = -Infinity;
  private fetches = 0;
  private newest = 0;

  /** @param source fetches anew at each call */
  constructor(
    private readonly source: () => Promise<AwsIdentity>,
    private readonly clock: Clock = new SystemClock(),
    private readonly logger?: AppLogger,
  ) {
    this.provider = Object.assign(() => this.get(), { memoized: true });
  }

  /** From where the SDK looks. */
  static ofChain(region: string, clock?: Clock, logger?: AppLogger): SharedCredentials {
    return new SharedCredentials(() => fetchFromChain(region), clock, logger);
  }

  /** @throws CredentialsUnavailable */
  async get(): Promise<AwsIdentity> {
    const leftMs = this.leftMs();
    if (this.known !== undefined && leftMs > RENEW_BEFORE_MS) return this.known;
    const renewed = this.renew();
    if (this.known === undefined || leftMs <= 0) return renewed;
    renewed.catch(() => undefined);
    return this.known;
  }

  /**
   * AWS has refused these credentials before their end. All callers that were refused share one fetch; those that come late find it done.
   * @returns whether there are other credentials now: only then is it worth calling again
   */
  async replace(isRefused: (identity: AwsIdentity) => boolean): Promise<boolean> {
    if (this.known === undefined) return false;
    if (!isRefused(this.known)) return true;
    if (this.fetching === undefined && !this.isPausing)
      this.logger?.warn('AWS refuses our credentials before their end: new ones are fetched');
    try {
      return !isRefused(await this.renew());
    } catch {
      return false;
    }
  }

  /** For the health answer: what keeps credentials from being had or renewed, or `undefined`. */
  get problem(): string | undefined {
    if (this.failure === undefined) return undefined;
    const leftS = Math.floor(this.leftMs() / 1_000);
    return this.known === undefined || leftS <= 0
      ? this.failure.error.message
      : `${this.failure.error.message}; those in hand end in ${leftS} s`;
  }

  private leftMs(): number {
    if (this.known === undefined) return 0;
    const { expiration } = this.known;
    return expiration === undefined ? Infinity : expiration.getTime() - Date.parse(this.clock.nowIso());
  }

  private get isPausing(): boolean {
    return this.clock.monotonicMs() < this.nextFetchAt;
  }

  private renew(): Promise<AwsIdentity> {
    if (this.fetching !== undefined) return this.fetching;
    if (this.isPausing) {
      if (this.failure !== undefined) return Promise.reject(this.failure.error);
      if (this.known !== undefined) return Promise.resolve(this.known);
    }
    this.fetching = this.fetch().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async fetch(): Promise<AwsIdentity> {
    const number = ++this.fetches;
    const ended = new AbortController();
    const late = this.clock.sleep(FETCH_LIMIT_MS, ended.signal).then(() => undefined);
    const fetched = this.source().then((identity) => this.accept(identity, number));
    // One that is too late may fail unheard.
    fetched.catch(() => undefined);
    try {
      const identity = await Promise.race([fetched, late]);
      if (identity !== undefined) return identity;
      throw new CredentialsUnavailable(`their source has not answered for ${FETCH_LIMIT_MS / 1_000} s`);
    } catch (error) {
      throw this.fail(error);
    } finally {
      ended.abort();
    }
  }

  private accept(identity: AwsIdentity, number: number): AwsIdentity {
    // The answer of a former fetch may come after that of a later one.
    if (number < this.newest && this.known !== undefined) return this.known;
    this.newest = number;
    if (this.failure !== undefined) this.logger?.info('AWS credentials can be had again');
    this.failure = undefined;
    this.nextFetchAt = this.clock.monotonicMs() + PAUSE_MS;
    this.known = identity;
    return identity;
  }

  private fail(cause: unknown): CredentialsUnavailable {
    const error = cause instanceof CredentialsUnavailable ? cause : new CredentialsUnavailable(toLoggable(cause).message, { cause });
    const inARow = (this.failure?.inARow ?? 0) + 1;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** (inARow - 1));
    this.failure = { error, inARow };
    this.nextFetchAt = this.clock.monotonicMs() + pauseMs;
    this.logger?.warn('AWS credentials cannot be had', { error: toLoggable(error), failures: inARow, waitMs: pauseMs });
    return error;
  }
}
