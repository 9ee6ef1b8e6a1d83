import type { Readable } from 'node:stream';
import { fullJitterMs, type BackoffPolicy } from '../../shared/index.js';
import { TransferError } from '../domain/transfer-error.js';
import { asksForPatience } from '../domain/transfer-task.js';
import { pause } from './pause.js';
import { CutBody, readBody, type BodyExpectation } from './source-body.js';
import type { OpenedSource, SourceOpener } from './source-opener.js';

export const MAX_RESUMES = 5;
const BACKOFF: BackoffPolicy = { baseMs: 250, capMs: 4_000 };
/** More than a few redirects take. Whoever waits for longer waits for a connection, while it holds the memory that those wait for who have one. */
const REST_PATIENCE_MS = 120_000;

/** What is asked for again after a cut: the URL of the task, as redirects may have been signed for a moment. */
export interface ResumedRequest {
  url: string;
  headers?: Record<string, string>;
}

/*
 * A body that goes on after a cut: whoever reads it sees one stream, so digests, parts in flight and uploaded parts stay as they are.
 *
 *   read ── cut or stalled ── a validator, resumes left? ── no ──────────────────────────────→ the cut's error
 *    ↑                                └─ yes → wait → ask for the rest
 *    └──────────── a 206 that is the rest ───────────┤
 *                                                    ├─ nothing within REST_PATIENCE_MS → the cut's error
 *                                                    ├─ failed, but may pass ── once more, as another resume
 *                                                    ├─ failed with a wish for patience → that error: the task waits elsewhere
 *                                                    └─ anything else → the cut's error
 *
 * The cut's error is retryable: the dispatcher's next try begins at the first byte, with a new hash and a new upload.
 */
export class ResumableBody {
  private bytes = 0;
  private resumes = 0;
  private total: number | undefined;

  constructor(
    private readonly sources: Pick<SourceOpener, 'resume'>,
    private readonly request: ResumedRequest,
    private readonly opened: OpenedSource,
    private readonly expect: Omit<BodyExpectation, 'from'> & { backoff?: BackoffPolicy; restPatienceMs?: number },
  ) {
    this.total = expect.size;
  }

  /** @throws as `readBody` */
  async *chunks(): AsyncGenerator<Buffer, void, void> {
    let { body } = this.opened;
    for (;;) {
      try {
        for await (const chunk of readBody(body, this.expected())) {
          this.bytes += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        if (!(error instanceof CutBody)) throw error;
        body = await this.rest(error);
      }
    }
  }

  private expected(): BodyExpectation {
    const { stallTimeoutMs, signal, speed, wait } = this.expect;
    return {
      stallTimeoutMs,
      signal,
      ...(speed && { speed }),
      ...(wait && { wait }),
      from: this.bytes,
      ...(this.total !== undefined && { size: this.total }),
    };
  }

  private async rest(cut: CutBody): Promise<Readable> {
    const { validator, contentEncoding } = this.opened;
    const { url, headers } = this.request;
    const { signal, wait, backoff = BACKOFF, restPatienceMs = REST_PATIENCE_MS } = this.expect;
    // Nothing to keep, or nothing to ask for.
    if (validator === undefined || this.bytes === 0 || this.bytes === this.total) throw cut;
    while (this.resumes < MAX_RESUMES) {
      this.resumes += 1;
      await pause(fullJitterMs(backoff, this.resumes), signal);
      const asking = new AbortController();
      const patience = setTimeout(() => asking.abort(cut), restPatienceMs);
      try {
        const point = { offset: this.bytes, total: this.total, validator, contentEncoding };
        const options = { ...(headers && { headers }), ...(wait && { wait }), signal: AbortSignal.any([signal, asking.signal]) };
        const { body, total } = await this.sources.resume(url, options, point);
        this.total = total;
        return body;
      } catch (error) {
        signal.throwIfAborted();
        if (error === cut || !(error instanceof TransferError)) throw error;
        if (error.disposition !== 'retry') throw cut;
        if (asksForPatience(error)) throw error;
      } finally {
        clearTimeout(patience);
      }
    }
    throw cut;
  }
}
