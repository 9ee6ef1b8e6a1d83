import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { isFramed, statusError } from '../domain/http-response.js';
import { TransferError } from '../domain/transfer-error.js';
import { discard, HttpSource, joined, single, type HttpSourceOptions } from './http-source.js';
import { S3Error, type S3Requests } from './s3-requests.js';
import type { SourceGuard } from './source-guard.js';

/** A source that has answered; whoever opened it reads its body or destroys it. */
export interface OpenedSource {
  body: Readable;
  /** Bytes, as the answer says. */
  size?: number;
  /** True when the framing shows a cut: by length or by chunks. */
  endIsKnown: boolean;
  etag?: string;
  lastModified?: string;
  contentType?: string;
  contentEncoding?: string;
}

/** Opens http, https and s3 sources, as far as the guard lets it. */
export class SourceOpener {
  private readonly http: HttpSource;

  constructor(
    private readonly guard: SourceGuard,
    agent: Agent,
    private readonly s3: S3Requests,
  ) {
    this.http = new HttpSource(agent, guard);
  }

  /** @throws TransferError, or the reason of the signal */
  async open(url: string, options: HttpSourceOptions): Promise<OpenedSource> {
    options.signal.throwIfAborted();
    const source = await (/^s3:/i.test(url) ? this.openS3(url, options.signal) : this.http.open(url, options).then(openedSource));
    // Errors reach whoever reads; a body that is destroyed unread has nobody to tell.
    source.body.on('error', () => {});
    return source;
  }

  private async openS3(uri: string, signal: AbortSignal): Promise<OpenedSource> {
    const at = this.guard.checkS3(uri);
    try {
      return openedSource(await this.s3.open({ method: 'GET', ...at, signal }));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TransferError) throw error;
      const status = error instanceof S3Error ? error.status : undefined;
      if (status !== undefined) throw statusError(status);
      throw new TransferError('SOURCE_CONNECTION', 'S3 did not answer', { retryable: true, cause: error });
    }
  }
}

function openedSource({ headers, body }: Pick<Dispatcher.ResponseData, 'headers' | 'body'>): OpenedSource {
  const length = single(headers['content-length']);
  const size = length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined;
  return {
    body,
    endIsKnown: endIsKnown({ headers, body }, size),
    ...defined({
      size,
      etag: single(headers['etag']),
      lastModified: single(headers['last-modified']),
      contentType: single(headers['content-type']),
      contentEncoding: single(headers['content-encoding']),
    }),
  };
}

function endIsKnown({ headers, body }: Pick<Dispatcher.ResponseData, 'headers' | 'body'>, size: number | undefined): boolean {
  try {
    return isFramed(size, joined(headers['transfer-encoding']));
  } catch (error) {
    discard(body);
    throw error;
  }
}

/** Without the properties that are undefined. */
function defined<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}
