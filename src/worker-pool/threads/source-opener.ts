import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { isFramed, statusError } from '../domain/http-response.js';
import { resumeValidator, totalOfRest, type ResumePoint } from '../domain/resume-point.js';
import { isS3Uri } from '../domain/s3-uri.js';
import { TransferError } from '../domain/transfer-error.js';
import { codeOf } from './connection-errors.js';
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
  /** With which the rest may be asked for, should the body be cut. */
  validator?: string;
}

/** Opens http, https and s3 sources, as far as the guard lets it. */
export class SourceOpener {
  private readonly http: HttpSource;

  constructor(
    private readonly guard: SourceGuard,
    agent: Agent,
    private readonly s3: S3Requests,
    userAgent: string,
  ) {
    this.http = new HttpSource(agent, guard, userAgent);
  }

  /** @throws TransferError, or the reason of the signal */
  async open(url: string, options: HttpSourceOptions): Promise<OpenedSource> {
    const answer = await this.ask(url, options);
    return checked(answer, () => openedSource(answer));
  }

  /** The rest of a body that was cut. @throws as `open`; `NOT_RESUMABLE` or another refusal when it cannot be had */
  async resume(url: string, options: HttpSourceOptions, point: ResumePoint): Promise<{ body: Readable; total: number }> {
    const answer = await this.ask(url, { ...options, resume: point });
    const { headers } = answer;
    const contentRange = single(headers['content-range']);
    return checked(answer, () => {
      const { body, ...described } = openedSource(answer);
      return { body, total: totalOfRest({ ...described, ...(contentRange !== undefined && { contentRange }) }, point) };
    });
  }

  private async ask(url: string, options: HttpSourceOptions): Promise<Answer> {
    options.signal.throwIfAborted();
    return isS3Uri(url) ? this.askS3(url, options) : this.http.open(url, options);
  }

  private async askS3(uri: string, { signal, resume, wait }: HttpSourceOptions): Promise<Answer> {
    const at = this.guard.checkS3(uri);
    const headers = resume === undefined ? {} : { range: `bytes=${resume.offset}-`, 'if-match': resume.validator };
    wait?.begin();
    try {
      const answer = await this.s3.open({ method: 'GET', ...at, headers, signal });
      wait?.heard();
      if (answer.statusCode === (resume === undefined ? 200 : 206)) return answer;
      discard(answer.body);
      throw statusError(answer.statusCode);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TransferError) throw error;
      const status = error instanceof S3Error ? error.status : undefined;
      if (status !== undefined) wait?.heard();
      if (status !== undefined) throw statusError(status);
      throw new TransferError('SOURCE_CONNECTION', `S3 did not answer for the bucket ${at.bucket} (${codeOf(error)})`, {
        retryable: true,
        cause: error,
      });
    }
  }
}

type Answer = Pick<Dispatcher.ResponseData, 'headers' | 'body'>;

/** What is read from the head of an answer; one whose head is refused goes with its connection. */
function checked<T>({ body }: Answer, read: () => T): T {
  // Errors reach whoever reads; a body that is destroyed unread has nobody to tell.
  body.on('error', () => {});
  try {
    return read();
  } catch (error) {
    body.destroy();
    throw error;
  }
}

function openedSource({ headers, body }: Answer): OpenedSource {
  const length = single(headers['content-length']);
  const size = length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined;
  const version = defined({ etag: single(headers['etag']), lastModified: single(headers['last-modified']) });
  return {
    body,
    endIsKnown: isFramed(size, joined(headers['transfer-encoding'])),
    ...version,
    ...defined({
      size,
      validator: resumeValidator({ ...version, ...defined({ date: single(headers['date']) }) }),
      contentType: single(headers['content-type']),
      contentEncoding: joined(headers['content-encoding']),
    }),
  };
}

/** Without the properties that are undefined. */
function defined<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}
