import type { IncomingHttpHeaders } from 'node:http';
import { SignatureV4 } from '@smithy/signature-v4';
import { Agent, type Dispatcher } from 'undici';
import { fullJitterMs, type BackoffPolicy } from '../../shared/index.js';
import type { BucketAccess } from '../domain/bucket-access.js';
import { isAboutBucket } from '../domain/destination-refusal.js';
import { isRetryableStatus } from '../domain/http-response.js';
import { codeOf } from './connection-errors.js';
import { pause } from './pause.js';
import { answeredError } from './s3-answers.js';
import type { BucketAccesses } from './bucket-accesses.js';
import { SigningHash } from './signing-hash.js';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  bucket: string;
  key?: string;
  query?: Record<string, string>;
  /** Names in lower case. */
  headers?: Record<string, string>;
  body?: Buffer | string;
  signal: AbortSignal;
  /** How long S3 may think before it answers; default 60,000 ms and 10 ms more for each KB of the body. */
  patienceMs?: number;
  /** Called when a try has failed: a socket may still read its body. */
  onFailure?: (() => void) | undefined;
  /** Failures that are not tried again here, although they may pass. */
  stopsAt?: (error: S3Error) => boolean;
  /** Whether S3's wish to be asked less is waited out here, within the signal; otherwise it counts as any other failure. */
  waitsOut?: boolean;
}

export interface S3Answer {
  headers: IncomingHttpHeaders;
  text: string;
  /** False when S3 may have carried out this request before: an answer was lost, or not to be used. */
  isOnly: boolean;
}

/** What S3 answered but 2xx, or why it did not. Holds nothing of the request. */
export class S3Error extends Error {
  /** The one that S3 says is missing. */
  readonly permission: string | undefined;

  constructor(
    /** S3's error code, or that of the connection. */
    readonly code: string,
    /** HTTP status; absent when there was no answer. */
    readonly status: number | undefined,
    options: ErrorOptions & { permission?: string } = {},
  ) {
    super(status === undefined ? `S3: ${code}` : `S3 answered ${status} ${code}`, options);
    this.name = 'S3Error';
    this.permission = options.permission;
  }

  /** Whether the same request may succeed a moment later. */
  get mayPass(): boolean {
    const { status, code } = this;
    if (status === NOT_IMPLEMENTED || LASTING_ERRORS.has(code) || isAboutBucket(code)) return false;
    return this.isThrottling || status === undefined || status === 200 || isRetryableStatus(status) || PASSING_ERRORS.has(code);
  }

  /** Whether S3 may have carried the request out all the same. */
  get mayBeDone(): boolean {
    const { status } = this;
    return status === undefined || status === 200 || (status >= 500 && !this.isThrottling);
  }

  /** S3 has done nothing and wants to be asked less often. */
  get isThrottling(): boolean {
    return this.code === 'SlowDown' || this.code.includes('Throttling') || this.status === 503 || this.status === 429;
  }
}

/** What another vendor's store says of what it will never do. */
const NOT_IMPLEMENTED = 501;
const CONNECT_TIMEOUT_MS = 5_000;
const PATIENCE_MS = 60_000;
/** The one retry layer of a call to S3; a whole task is tried again by whoever gave it. */
const MAX_FAILURES = 3;
/** S3 takes minutes to make room for more requests; a task that gives up meanwhile throws all its parts away. */
const MAX_THROTTLINGS = 13;
/** HEAD has no text: an expired token is a bare 400 there. */
const BARE_400 = 'BadRequest';
const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired', BARE_400]);
const SKEWED = 'RequestTimeTooSkewed';
/** Said with a 4xx. BadDigest: the bytes became others on their way, so the same ones are sent once more. */
const PASSING_ERRORS = new Set([...EXPIRED, SKEWED, 'RequestTimeout', 'OperationAborted', 'ConditionalRequestConflict', 'BadDigest']);
/** Said with a 4xx, or behind a 200 that was sent before they were known: whatever else such a 200 holds may pass. */
const LASTING_ERRORS = new Set([
  'EntityTooLarge',
  'EntityTooSmall',
  'InvalidArgument',
  'InvalidPart',
  'InvalidPartOrder',
  'InvalidRequest',
  'MalformedXML',
  'NoSuchKey',
  'NoSuchUpload',
  'PreconditionFailed',
]);

/** How long a call to S3 waits before it is made again. */
export interface S3Timings {
  backoff: BackoffPolicy;
  throttled: BackoffPolicy;
}

/** What the requests to a bucket share, worked out once for each access to it. */
interface Target {
  url: URL;
  signer: SignatureV4;
}

const TIMINGS: S3Timings = { backoff: { baseMs: 100, capMs: 5_000 }, throttled: { baseMs: 200, capMs: 10_000 } };

/**
 * Requests to S3: signed, with connections, timeouts and retries of their own. It takes a quarter of the time and, in each thread, 18 MiB
 * less than the SDK's client (docs/decisions/0010). Where a bucket is and who asks comes from the SDK all the same.
 */
export class S3Requests {
  private readonly agent: Agent;
  private readonly targets = new WeakMap<BucketAccess, Target>();
  /** Of S3's clock, ahead of ours; 0 until it complains. */
  private skewMs = 0;

  constructor(
    private readonly accesses: BucketAccesses,
    /** At once, to one bucket's address; null for as many as there are requests. */
    connections: number | null,
    private readonly timings: S3Timings = TIMINGS,
  ) {
    this.agent = new Agent({ allowH2: false, pipelining: 1, connections, connect: { timeout: CONNECT_TIMEOUT_MS } });
  }

  /** @throws S3Error, or the signal's reason */
  async send(request: S3Request): Promise<S3Answer> {
    return this.tryAgain(request, async (response) => {
      const text = await response.body.text();
      // An error may come after the 200: then it is the text that tells.
      const error = answeredError(text);
      if (error !== undefined) throw new S3Error(error.code, response.statusCode, error);
      return { headers: response.headers, text };
    });
  }

  /** The answer with its body unread: the receiver reads or destroys it. @throws as `send` */
  async open(request: S3Request): Promise<Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>> {
    return this.tryAgain(request, async ({ statusCode, headers, body }) => ({ statusCode, headers, body }));
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async tryAgain<T extends object>(
    request: S3Request,
    read: (response: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T & { isOnly: boolean }> {
    const { backoff, throttled } = this.timings;
    let isOnly = true;
    let [failures, throttlings] = [0, 0];
    for (;;) {
      try {
        return { ...(await read(await this.sendOnce(request))), isOnly };
      } catch (error) {
        request.onFailure?.();
        request.signal.throwIfAborted();
        const cause = error instanceof S3Error ? error : new S3Error(codeOf(error), undefined, { cause: error });
        const waitsOut = request.waitsOut === true && cause.isThrottling;
        if (waitsOut) throttlings += 1;
        else failures += 1;
        if (!cause.mayPass || request.stopsAt?.(cause) === true || failures === MAX_FAILURES || throttlings === MAX_THROTTLINGS)
          throw cause;
        if (cause.mayBeDone) isOnly = false;
        const waitMs = waitsOut ? fullJitterMs(throttled, throttlings) : fullJitterMs(backoff, failures);
        await pause(waitMs, request.signal);
      }
    }
  }

  /** @throws S3Error for any status but 2xx */
  private async sendOnce(request: S3Request): Promise<Dispatcher.ResponseData> {
    const { method, bucket, body = '', signal, patienceMs = PATIENCE_MS + Math.ceil(body.length / 100) } = request;
    const access = await unlessAborted(this.accesses.of(bucket), signal);
    const { origin, path, headers } = await this.signed(request, access);
    const response = await this.agent.request({
      origin,
      path,
      method,
      headers,
      body: method === 'PUT' || method === 'POST' ? body : null,
      signal,
      // undici closes the connection after a HEAD unless told not to: S3 sends no body after one.
      reset: false,
      headersTimeout: patienceMs,
      bodyTimeout: patienceMs,
    });
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const error = answeredError(await response.body.text());
    const code = error?.code ?? statusCodes[response.statusCode] ?? 'unknown';
    if (EXPIRED.has(code)) this.accesses.forget(bucket, access);
    if (code === SKEWED) this.skewMs = Date.parse(String(response.headers.date)) - Date.now() || 0;
    throw new S3Error(code, response.statusCode, error);
  }

  private async signed(
    { method, key, query = {}, headers = {}, body = '' }: S3Request,
    access: BucketAccess,
  ): Promise<{ origin: string; path: string; headers: Record<string, string> }> {
    const { url, signer } = this.targetOf(access);
    const path = (url.pathname === '/' ? '' : url.pathname) + escapedPath(key ?? '');
    const hasBody = method === 'PUT' || method === 'POST';
    const signed = await signer.sign(
      {
        method,
        protocol: url.protocol,
        hostname: url.hostname,
        ...(url.port === '' ? {} : { port: Number(url.port) }),
        path,
        query,
        headers: {
          ...headers,
          host: url.host,
          'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
          ...(hasBody ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
        },
      },
      { signingDate: new Date(Date.now() + this.skewMs) },
    );
    const search = Object.entries(query).map(([name, value]) => `${escapeUri(name)}=${escapeUri(value)}`);
    return { origin: url.origin, path: search.length === 0 ? path : `${path}?${search.join('&')}`, headers: signed.headers };
  }

  private targetOf(access: BucketAccess): Target {
    const known = this.targets.get(access);
    if (known !== undefined) return known;
    const { region, credentials } = access;
    // S3 signs the path as it is sent.
    const signer = new SignatureV4({ service: 's3', region, credentials, sha256: SigningHash, uriEscapePath: false, applyChecksum: false });
    const target = { url: new URL(access.url), signer };
    this.targets.set(access, target);
    return target;
  }
}

/** Whoever is asked for credentials may take his time: no task that has ended waits for them. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** HEAD answers without a text. */
const statusCodes: Readonly<Record<number, string>> = {
  301: 'PermanentRedirect',
  400: BARE_400,
  403: 'Forbidden',
  404: 'NotFound',
  412: 'PreconditionFailed',
};

/** `/bucket/key` as a header or a path carries it. */
export function escapedPath(...segments: string[]): string {
  return segments.map((segment) => `/${segment.split('/').map(escapeUri).join('/')}`).join('');
}

/** RFC 3986: what `encodeURIComponent` leaves and a signature does not. */
function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
