import type { Readable } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import { hostOf, mergedHeaders, RESERVED_REQUEST_HEADERS } from '../../shared/index.js';
import { isRedirect, statusError } from '../domain/http-response.js';
import { patienceWish } from '../domain/patience-wish.js';
import type { ResumePoint } from '../domain/resume-point.js';
import { TransferError } from '../domain/transfer-error.js';
import type { PatienceWish, PausedHost } from '../domain/transfer-task.js';
import { isReset, requestError } from './request-errors.js';
import type { SourceGuard } from './source-guard.js';
import type { SourceWait } from './transfer-signs.js';

export const MAX_REDIRECTS = 10;
const MAX_REQUESTS = 3;
/** They say who asks for what, and prove nothing: wherever a redirect leads, they go along. */
const KEPT_BY_REDIRECTS = new Set(['accept', 'user-agent']);

export interface HttpSourceOptions {
  headers?: Record<string, string>;
  signal: AbortSignal;
  maxRedirects?: number;
  /** A redirect to one of these is not followed. */
  pausedHosts?: readonly PausedHost[];
  /** Asks for the rest of this content: then a 206 is the only answer. */
  resume?: ResumePoint;
  /** Is told when the source is asked, and when it answers. */
  wait?: SourceWait;
}

/** GET over http(s), redirects followed by hand so that each hop meets the guard. Answers with a 200 (the 206 that was asked for) or throws TransferError. */
export class HttpSource {
  constructor(
    private readonly agent: Dispatcher,
    private readonly guard: SourceGuard,
    /** `User-Agent` of requests whose caller gives none. */
    private readonly userAgent: string,
  ) {}

  async open(address: string, options: HttpSourceOptions): Promise<Dispatcher.ResponseData> {
    let url = parseUrl(address);
    let headers = mergedHeaders({ 'user-agent': this.userAgent }, callerHeaders(options.headers ?? {}));
    const own = { 'accept-encoding': 'identity', ...rangeHeaders(options.resume) };
    const wanted = options.resume === undefined ? 200 : 206;
    const maxRedirects = options.maxRedirects ?? MAX_REDIRECTS;
    const openedAtMs = performance.now();
    for (let hop = 0; hop <= maxRedirects; hop++) {
      this.guard.checkUrl(url);
      const response = await this.get(url, { ...headers, ...own }, options, hop > 0);
      if (response.statusCode === wanted) return response;
      discard(response.body);
      const location = single(response.headers['location']);
      if (!isRedirect(response.statusCode) || location === undefined) throw statusError(response.statusCode, wishOf(url, response));
      const next = parseUrl(escapedBytes(location), url.href);
      // Credentials are for the origin they were given for, and do not come back with it.
      if (next.origin !== url.origin && !isUpgrade(url, next)) headers = only(KEPT_BY_REDIRECTS, headers);
      url = next;
      refusePaused(url, options.pausedHosts, performance.now() - openedAtMs);
    }
    throw new TransferError('TOO_MANY_REDIRECTS', `more than ${maxRedirects} redirects`, { retryable: false });
  }

  /** One request; after a reset another, at once: of the connections that were kept more than one may be dead. */
  private async get(
    url: URL,
    headers: Record<string, string>,
    { signal, wait }: HttpSourceOptions,
    isRedirect: boolean,
  ): Promise<Dispatcher.ResponseData> {
    wait?.begin();
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await request(url, { dispatcher: this.agent, headers, signal });
        wait?.heard();
        return response;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (attempt < MAX_REQUESTS && isReset(error)) continue;
        throw requestError(error, { host: hostOf(url), isRedirect });
      }
    }
  }
}

function wishOf(url: URL, { statusCode, headers }: Dispatcher.ResponseData): PatienceWish {
  return patienceWish(statusCode, hostOf(url), (name) => single(headers[name]), Date.now());
}

/** The pause began before this task, which comes by a host that has none: it waits with the others, and is not asked once more. */
function refusePaused(url: URL, pausedHosts: readonly PausedHost[] = [], passedMs: number): void {
  const name = hostOf(url);
  const leftMs = (pausedHosts.find(({ host }) => host === name)?.forMs ?? 0) - passedMs;
  if (leftMs <= 0) return;
  throw new TransferError('SOURCE_PAUSED', 'the host that a redirect leads to has asked for patience', {
    retryable: true,
    retryAfterMs: leftMs,
    retryAfterHost: name,
  });
}

function rangeHeaders(point: ResumePoint | undefined): Record<string, string> {
  return point === undefined ? {} : { range: `bytes=${point.offset}-`, 'if-range': point.validator };
}

export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** A list header, of one line or of several. */
export function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

/** A body that nobody reads holds its connection: it goes with it, and its error with both. */
export function discard(body: Readable): void {
  body.on('error', () => {}).destroy();
}

function parseUrl(text: string, base?: string): URL {
  const url = URL.parse(text, base);
  if (url === null) throw new TransferError('URL_INVALID', 'the URL cannot be parsed', { retryable: false });
  return url;
}

/** Headers are bytes, given to us as latin1: a path in raw UTF-8 is asked for byte by byte, not as what latin1 makes of it. */
function escapedBytes(header: string): string {
  return header.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** From http to https of the same host, each at its own port: the same server, asked in secret. */
function isUpgrade(from: URL, to: URL): boolean {
  return from.protocol === 'http:' && to.protocol === 'https:' && from.host === to.host && to.port === '';
}

function callerHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !RESERVED_REQUEST_HEADERS.has(name.toLowerCase())));
}

function only(names: ReadonlySet<string>, headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name.toLowerCase())));
}
