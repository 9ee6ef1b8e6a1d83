import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import type { SharedCredentials } from '../../platform/aws/index.js';
import { hostOf } from '../../shared/index.js';
import { MAX_RETRY_AFTER_MS } from '../domain/http-response.js';
import { TransferError } from '../domain/transfer-error.js';
import type { PausedHost } from '../domain/transfer-task.js';
import { guardedAgent } from '../threads/guarded-agent.js';
import { BucketAccesses } from '../threads/bucket-accesses.js';
import { S3Requests } from '../threads/s3-requests.js';
import { SourceGuard } from '../threads/source-guard.js';
import { pause } from '../threads/pause.js';
import { SourceOpener, type OpenedSource } from '../threads/source-opener.js';
import { userAgent, type PoolSettings } from './pool-settings.js';
import { S3Access } from './s3-access.js';
import { watchedBody } from './watched-body.js';

/** How long in all a reader waits because a host asks for it: one wait of the longest kind. A longer wish is for the caller to come back for. */
const PATIENCE_MS = MAX_RETRY_AFTER_MS;
/** `Retry-After: 0` for ever would be a loop. */
const SHORTEST_WAIT_MS = 1_000;

export interface OpenSourceOptions {
  /** Dropped when a redirect changes the origin. */
  headers?: Record<string, string>;
  /** Ends the opening and the reading. */
  signal: AbortSignal;
  /** Default 10; 0 refuses any. */
  maxRedirects?: number;
  /** Called before each wait for a host that asked for patience with Retry-After, with its length (300 s at most), and without one after it. */
  onWait?: (wait?: PausedHost) => void;
}

export interface SourceStream {
  /** Fails with an AppError when it is cut, stalls, or has more or fewer bytes than `size`. The receiver reads or destroys it. */
  body: Readable;
  contentEncoding?: string;
  contentType?: string;
  /** Bytes on the wire, if the source says. */
  size?: number;
}

/**
 * Reads a user's URL (http, https or s3) on the main thread, under the same guard as the transfers: for manifests. Those are few, so it neither
 * keeps to the pauses of the transfers nor begins one: what a host asks of it, it does itself. It has a connection for every list that may be open,
 * because one that waited here for another's connection would wait unseen; its caller limits how many there are.
 */
export class SourceReader {
  private readonly agent: Agent;
  private readonly s3: S3Requests;
  private readonly sources: SourceOpener;

  /** @param maxOpen how many sources its caller opens at a time */
  constructor(settings: Pick<PoolSettings, 'access' | 'aws'>, maxOpen: number, credentials?: SharedCredentials) {
    const guard = new SourceGuard(settings.access);
    this.agent = guardedAgent(guard, maxOpen);
    const access = new S3Access(settings.aws, credentials);
    this.s3 = new S3Requests(new BucketAccesses((bucket, refusedKeyId) => access.of(bucket, refusedKeyId)), maxOpen);
    this.sources = new SourceOpener(guard, this.agent, this.s3, userAgent());
  }

  /** @throws AppError with the codes of a task's failure (`SOURCE_NOT_ALLOWED`, `HTTP_404` …) and disposition `retry` or `reject`, or the signal's reason */
  async openSource(url: string, options: OpenSourceOptions): Promise<SourceStream> {
    const { body: source, size, contentType, contentEncoding, endIsKnown } = await this.openPatiently(url, options);
    if (!endIsKnown) {
      source.destroy();
      throw lengthUnknown();
    }
    const expected = size === undefined ? {} : { size };
    return {
      body: watchedBody(source, { ...expected, signal: options.signal }),
      ...expected,
      ...(contentType !== undefined && { contentType }),
      ...(contentEncoding !== undefined && { contentEncoding }),
    };
  }

  private async openPatiently(url: string, { onWait, ...options }: OpenSourceOptions): Promise<OpenedSource> {
    for (let patienceMs = PATIENCE_MS; ;) {
      try {
        return await this.sources.open(url, options);
      } catch (error) {
        if (!(error instanceof TransferError) || error.disposition !== 'retry' || error.retryAfterMs === undefined) throw error;
        const waitMs = Math.max(SHORTEST_WAIT_MS, error.retryAfterMs);
        patienceMs -= waitMs;
        if (patienceMs < 0) throw error;
        onWait?.({ host: error.retryAfterHost ?? hostOf(new URL(url)), forMs: waitMs });
        await pause(waitMs, options.signal);
        onWait?.();
      }
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await this.agent.destroy();
    await this.s3.close();
  }
}

/** Cut, such a manifest would be a shorter one: its job would succeed without the rest. */
function lengthUnknown(): TransferError {
  const mend = 'serve it with a Content-Length or with Transfer-Encoding: chunked, or from an S3 bucket';
  return new TransferError('LENGTH_UNKNOWN', `the source does not say where the manifest ends: ${mend}`, { retryable: false });
}
