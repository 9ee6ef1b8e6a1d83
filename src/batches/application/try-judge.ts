import { DESTINATION_REFUSED } from '../../export-jobs/index.js';
import { AppLogger, fullJitterMs, Metrics, type MonotonicMs } from '../../shared/index.js';
import { asksForPatience, type TaskFailure, type TaskOutcome } from '../../worker-pool/index.js';
import type { HostGate } from '../domain/host-gate.js';
import { HOST_PATIENCE_MS, SILENCE_PATIENCE_MS } from '../domain/source-host.js';
import { FirstOfAKind } from './first-of-a-kind.js';
import { runsAlone, type Dispatched, type Try } from './task-source.js';

const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
/** A source that sent other bytes than promised, or bytes that S3 got otherwise, may have been caught in a change; twice is an answer. */
const MAX_MISMATCHES = 2;
const MISMATCHES = new Set(['CHECKSUM_MISMATCH', 'UPLOAD_MISMATCH']);
/** Our own store is away or slows us down: no fault of the file, and it passes. Minutes of patience instead of seconds. */
const STORE_PATIENCE = 3;
/** A host that restarts refuses connections within milliseconds: four tries of a file would be over before it is back. */
const UNREACHABLE = 'SOURCE_UNREACHABLE';
/** What a try ends with when its source has not answered at all. */
const SILENCES = new Set(['CONNECT_TIMEOUT', 'HEADERS_TIMEOUT', 'SOURCE_STALLED', UNREACHABLE]);
/** A thread has died: one of the files that it ran may have been the cause. */
const THREAD_LOST = 'THREAD_LOST';
const HTTP_TOO_MANY_REQUESTS = 429;

/** What follows from a try. `over`: `because` says what the last try alone does not tell · `again`: after `inMs`; with 0 as soon as its host is open. */
export type Verdict = { kind: 'over'; because?: string } | { kind: 'again'; inMs: number };
const OVER: Verdict = { kind: 'over' };

/**
 * Decides what follows from the end of a try: whose word it was (the file's, its host's, our store's), whether the file is tried again, and
 * when. Each failed try is counted; the first of a kind for a job and host is logged with what comes next, because a file may be tried
 * for minutes before it is recorded as failed.
 */
export class TryJudge {
  private readonly told = new FirstOfAKind();

  constructor(
    private readonly taskMaxAttempts: number,
    private readonly gate: HostGate,
    private readonly metrics: Metrics,
    private readonly logger: AppLogger,
  ) {}

  judge(attempt: Try, outcome: TaskOutcome, now: MonotonicMs): Verdict {
    if (isService(outcome)) this.served(attempt, now);
    if (outcome.success) {
      this.metrics.increment('task_tries_total', { outcome: 'succeeded', code: '' });
      return OVER;
    }
    const { error, bytesProcessed } = outcome;
    this.metrics.increment('task_tries_total', { outcome: 'failed', code: error.code });
    const verdict = this.judgeError(attempt, error, bytesProcessed === 0 ? this.noteAnswer(attempt, error, now) : 'file', now);
    this.tell(attempt.dispatched, error, verdict, now);
    return verdict;
  }

  /** The source has been read to its end, or its host said why there is none. */
  served(attempt: Try, now: MonotonicMs): void {
    if (attempt.isServed) return;
    attempt.isServed = true;
    this.gate.served(attempt.dispatched.host, attempt.startedAt, now);
  }

  /** Tells the gate what the try says of its host. @returns whose fault the failure may be */
  private noteAnswer(attempt: Try, { code, httpStatus, retryable, failedHost }: TaskFailure, now: MonotonicMs): 'host' | 'file' {
    const { dispatched, startedAt } = attempt;
    const { host } = dispatched;
    if (SILENCES.has(code)) {
      // The redirect was an answer; what it leads to is waited for.
      if (failedHost !== undefined && failedHost !== host) this.gate.answered(host, now);
      dispatched.host = failedHost ?? host;
      return this.gate.keptSilent(dispatched.host, startedAt, now, dispatched.unreachableAt);
    }
    if (code === `HTTP_${httpStatus}` && retryable) this.gate.answered(host, now);
    else if (code === `HTTP_${httpStatus}`) this.served(attempt, now);
    return 'file';
  }

  private judgeError(attempt: Try, error: TaskFailure, whose: 'host' | 'file', now: MonotonicMs): Verdict {
    if (error.retryable && asksForPatience(error)) return this.judgeRefusal(attempt, error, now);
    const { dispatched } = attempt;
    if (error.code === THREAD_LOST && !runsAlone(dispatched)) {
      dispatched.lostThreads++;
      return this.pardon(dispatched);
    }
    if (error.code === UNREACHABLE) dispatched.unreachableAt = now;
    return error.code === UNREACHABLE && whose === 'host' ? this.pardon(dispatched) : this.judgeFailure(dispatched, error);
  }

  private judgeFailure(dispatched: Dispatched, error: TaskFailure): Verdict {
    if (!this.mayTryAgain(dispatched, error)) return OVER;
    return afterBackoff(dispatched.attempts - dispatched.pardoned);
  }

  /**
   * Its host could not be reached, by nobody: the file fails with all others once that has been so for SILENCE_PATIENCE_MS. Or the thread
   * died that ran it beside others: it will be run alone when that happens again.
   */
  private pardon(dispatched: Dispatched): Verdict {
    dispatched.pardoned++;
    return afterBackoff(dispatched.attempts);
  }

  private judgeRefusal({ dispatched, startedAt }: Try, error: TaskFailure, now: MonotonicMs): Verdict {
    const { retryAfterMs, retryAfterHost, httpStatus, code } = error;
    const { refusedAt, refusedSince = now } = dispatched;
    dispatched.refusedSince = refusedSince;
    dispatched.refusedAt = now;
    // One that was not even asked says nothing new.
    if (retryAfterHost !== undefined && code !== 'SOURCE_PAUSED') {
      const refusal = { forMs: retryAfterMs, isExplicit: retryAfterMs !== undefined || httpStatus === HTTP_TOO_MANY_REQUESTS };
      if (this.gate.refused(retryAfterHost, refusal, startedAt, now, refusedAt) === 'file') return this.judgeFailure(dispatched, error);
    }
    dispatched.pardoned++;
    if (dispatched.pardoned >= this.taskMaxAttempts && now - refusedSince >= HOST_PATIENCE_MS)
      return { kind: 'over', because: `its host has put this file off for ${Math.round((now - refusedSince) / 60_000)} minutes` };
    if (retryAfterHost === undefined) return { kind: 'again', inMs: Math.max(BACKOFF.baseMs, retryAfterMs ?? 0) };
    dispatched.host = retryAfterHost;
    return { kind: 'again', inMs: 0 };
  }

  private mayTryAgain(dispatched: Dispatched, error: TaskFailure): boolean {
    if (MISMATCHES.has(error.code) && ++dispatched.mismatches === MAX_MISMATCHES) return false;
    const counted = dispatched.attempts - dispatched.pardoned;
    return error.retryable && counted < (error.code === 'UPLOAD_FAILED' ? this.taskMaxAttempts * STORE_PATIENCE : this.taskMaxAttempts);
  }

  /** The first file of a job and host that is not even asked, because its host was given up: so are all others that are in hand for it. */
  tellGivenUp({ source, task, host }: Dispatched, { code, message }: TaskFailure): void {
    if (!this.told.isFirst(source, `${host ?? ''} ${code}`)) return;
    this.logger.warn('A host was given up: what is in hand for it fails without being asked again', {
      jobId: task.jobId,
      ...(host === undefined ? {} : { host }),
      code,
      reason: message,
    });
  }

  private tell(dispatched: Dispatched, error: TaskFailure, verdict: Verdict, now: MonotonicMs): void {
    // The dispatcher tells of the bucket, as an error.
    if (error.code === DESTINATION_REFUSED) return;
    const { source, task, host, attempts, pardoned } = dispatched;
    const kind = this.gate.isSilent(host) ? 'silent' : runsAlone(dispatched) ? 'alone' : error.code;
    if (!this.told.isFirst(source, `${host ?? ''} ${kind}`)) return;
    this.logger.warn('A try of a file failed; more of this kind for this job and host are only counted (task_tries_total)', {
      jobId: task.jobId,
      taskId: task.taskId,
      ...(host === undefined ? {} : { host }),
      code: error.code,
      reason: error.message,
      attempt: attempts,
      charged: attempts - pardoned,
      next: verdict.kind === 'over' ? 'the file is recorded as failed' : this.whatComesNext(dispatched, verdict.inMs, now),
    });
  }

  private whatComesNext(dispatched: Dispatched, inMs: number, now: MonotonicMs): string {
    const { host } = dispatched;
    if (runsAlone(dispatched))
      return `the file is tried again after ${(inMs / 1_000).toFixed(1)} s, alone on a thread: threads died with it`;
    if (this.gate.isSilent(host))
      return `the host answers nobody: it gets a few connections until it does, and after ${SILENCE_PATIENCE_MS / 60_000} minutes all its files in hand fail`;
    const opensAt = this.gate.opensAt(host, now);
    if (opensAt !== undefined && inMs === 0)
      return `the host is left alone for ${((opensAt - now) / 1_000).toFixed(1)} s, then the file is tried again`;
    return `the file is tried again after ${(inMs / 1_000).toFixed(1)} s`;
  }
}

/** Never 0, which says that only the host is waited for: the file would go before all that wait for their first try. */
function afterBackoff(attempt: number): Verdict {
  return { kind: 'again', inMs: Math.max(1, fullJitterMs(BACKOFF, attempt)) };
}

/** The host has served: bytes are service, whatever became of them. A file that was left alone as it is was not asked for. */
function isService(outcome: TaskOutcome): boolean {
  return outcome.success ? outcome.skipped !== true : outcome.bytesProcessed > 0 && !SILENCES.has(outcome.error.code);
}
