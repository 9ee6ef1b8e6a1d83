import { AppError, fullJitterMs, type MonotonicMs } from '../../shared/index.js';

/** SQS hides a message for at most 12 hours in total since it was received; a call that goes over it is rejected, not clamped. */
const MAX_TOTAL_S = 43_200;
/** SQS takes whole seconds: near the 12 hours each call would gain a fraction of one. */
const WORTH_A_CALL_MS = 1_000;

export interface HeldMessage {
  queueUrl: string;
  receiptHandle: string;
  receivedAt: MonotonicMs;
  /** For logs. */
  messageId?: string;
}

/** Keeps one received message invisible while it is worked on. */
export interface VisibilityHeartbeat {
  /** While running: nothing. After a stop: begins anew, without the former error. */
  start(): void;
  /** Resolves when no call is in flight any more (waits for at most interval + 5 s), so that no change can follow a delete. */
  stop(): Promise<void>;
  readonly running: boolean;
  /** Why the message is not known to be ours any more: `VISIBILITY_LOST` or `VISIBILITY_CAP_REACHED`, disposition `yield`. */
  readonly error: AppError | undefined;
  /** Aborted when `error` is set; a start after that brings a new one. */
  readonly signal: AbortSignal;
}

/** What the message's heartbeat needs of the timer they all share. */
export interface HeartbeatTimer {
  readonly intervalMs: number;
  readonly timeoutS: number;
  nowMs(): MonotonicMs;
  started(heartbeat: MessageHeartbeat): void;
  stopped(heartbeat: MessageHeartbeat): Promise<void>;
}

/**
 *   idle ──start──▶ running ──stop──▶ idle
 *                     │
 *                     └──gone · known expiry passed · 12 hours──▶ idle, `error` set, `signal` aborted
 *
 * Running, no call in flight: the next renewal is due an interval after the receive, then after the last one settled.
 * A call in flight ends as
 *   changed → the expiry is the time before the call plus what was asked for (it is never shortened)
 *   gone    → lost
 *   failed  → tried again, sooner than an interval, for as long as the known expiry has not passed
 * Not guaranteed: that nobody else has the message. SQS delivers at least once.
 */
export class MessageHeartbeat implements VisibilityHeartbeat {
  /** The call in flight; it never rejects. */
  call: Promise<void> | undefined;
  #running = false;
  #error: AppError | undefined;
  #lost = new AbortController();
  #dueAt: MonotonicMs;
  #expiresAt: MonotonicMs;
  #failures = 0;
  #firstFailure: unknown;
  #capped = false;

  constructor(
    readonly message: HeldMessage,
    private readonly timer: HeartbeatTimer,
  ) {
    this.#dueAt = message.receivedAt + timer.intervalMs;
    this.#expiresAt = message.receivedAt + timer.timeoutS * 1_000;
  }

  get running(): boolean {
    return this.#running;
  }

  get error(): AppError | undefined {
    return this.#error;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  start(): void {
    if (this.#running) return;
    if (this.#error !== undefined) this.#lost = new AbortController();
    this.#error = undefined;
    this.#running = true;
    this.timer.started(this);
  }

  stop(): Promise<void> {
    this.#running = false;
    return this.timer.stopped(this);
  }

  /** When the timer must look at this message next. */
  get nextLookAt(): MonotonicMs {
    return this.call === undefined && !this.#capped ? Math.min(this.#dueAt, this.#expiresAt) : this.#expiresAt;
  }

  isDue(byMs: MonotonicMs): boolean {
    return this.call === undefined && !this.#capped && this.#dueAt <= byMs;
  }

  hasExpired(nowMs: MonotonicMs): boolean {
    return this.#expiresAt <= nowMs;
  }

  /** What to ask for now; undefined when 12 hours leave nothing to gain. */
  timeoutToAskS(nowMs: MonotonicMs): number | undefined {
    const leftS = Math.floor(MAX_TOTAL_S - (nowMs - this.message.receivedAt) / 1_000) - 1;
    const askS = Math.min(this.timer.timeoutS, leftS);
    const isCut = askS < this.timer.timeoutS;
    this.#capped = askS <= 0 || (isCut && nowMs + askS * 1_000 < this.#expiresAt + WORTH_A_CALL_MS);
    return this.#capped ? undefined : askS;
  }

  renewed(askedAt: MonotonicMs, askedS: number): void {
    this.#failures = 0;
    this.#firstFailure = undefined;
    this.#expiresAt = askedAt + askedS * 1_000;
    this.#dueAt = this.timer.nowMs() + this.timer.intervalMs;
  }

  failed(cause: unknown): void {
    this.#failures++;
    this.#firstFailure ??= cause;
    const backoff = { baseMs: this.timer.intervalMs / 8, capMs: this.timer.intervalMs / 2 };
    this.#dueAt = this.timer.nowMs() + fullJitterMs(backoff, this.#failures, () => (1 + Math.random()) / 2);
  }

  /** False when it was lost before. */
  gone(code: string): boolean {
    return this.#lose('VISIBILITY_LOST', `The message is not ours any more (${code})`);
  }

  expired(): void {
    if (this.#capped) this.#lose('VISIBILITY_CAP_REACHED', `The message was held for ${MAX_TOTAL_S} s, which is as long as SQS allows`);
    else this.#lose('VISIBILITY_LOST', 'The message became visible before a renewal succeeded', this.#firstFailure);
  }

  #lose(code: string, message: string, cause?: unknown): boolean {
    this.#running = false;
    if (this.#error !== undefined) return false;
    this.#error = new AppError(code, message, { disposition: 'yield', cause });
    this.#lost.abort(this.#error);
    return true;
  }
}
