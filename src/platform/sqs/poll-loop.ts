import { fullJitterMs, mayPass, toLoggable, type AppLogger, type BackoffPolicy, type Clock, type MonotonicMs } from '../../shared/index.js';
import { handBack, type HandBackQueue } from './hand-back.js';
import { idsOf } from './message-ids.js';
import { MAX_ENTRIES, type ReceivedMessage } from './sqs-messages.js';
import type { SqsQueue } from './sqs-queue.js';

const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 1_000, capMs: 30_000 };
/**
 * SQS allows 20 s, but a stop has to wait for the poll under way: see PollLoop. So short a one asks 1.8 million times a month, for two
 * queues, which costs less than a dollar.
 */
export const LONG_POLL_S = 3;
/** How long a stop lets the messages of the last poll be handed back. */
const RELEASE_LIMIT_MS = 5_000;
/** A receive that takes this much longer than its long poll hangs: its own time limit did not end it. */
const HANGING_RECEIVE_MS = 60_000;

/** How the next receive is made. */
export interface Pace {
  /** How long it waits for a message; at most 20. */
  waitSeconds: number;
  /** Then nothing is received for so long, or until a wake; 0: the next receive follows at once. */
  pauseMs: number;
}

const LONG_POLLS: Pace = { waitSeconds: LONG_POLL_S, pauseMs: 0 };

export interface PollLoopOptions {
  /** For logs: whose loop this is. */
  name: string;
  queue: Pick<SqsQueue, 'receive'> & HandBackQueue;
  /** The queue's own: after so many receives a message goes to the dead-letter queue. */
  maxReceiveCount: number;
  /** How many handlers may run at the same time, asked before each poll. 0: none now; after it has risen again, call `wake`, or have a pace. */
  capacity: () => number;
  /**
   * Asked before each poll and after it; without it there are long polls without a pause. Short polls with pauses between them leave
   * messages to those who wait for one all the time. Such a pause ends early when fewer handlers run, is left out when the queue gave as
   * many messages as were asked for, and takes the place of the wait for a wake while there is no room.
   */
  pace?: () => Pace;
  /** Runs for each message. What it throws is logged; the message then comes back after its visibility timeout. */
  handle: (message: ReceivedMessage) => Promise<void>;
  /** The loop turned: the queue answered a receive, be it with nothing. */
  onTurn?: () => void;
  visibilityTimeoutS: number;
  backoff?: BackoffPolicy;
  clock: Clock;
  logger: AppLogger;
}

interface Run {
  /** No receive is begun any more. */
  stop: AbortController;
  /** A stop cannot wait any longer. */
  cutOff: AbortController;
  ended: Promise<void>;
}

/**
 * Receives messages for as long as there is room for them.
 *
 *   stopped ──start──▶ full ──a handler ends · wake · pause over──▶ polling ──messages──▶ (handlers run) ──▶ full, pausing or polling
 *                                                        └──error──▶ backing off (1 s → 30 s) ──▶ polling
 *   A handler that fails slows the next receive down in the same way: a process that is cut off from its tables must not take in, and
 *   hide, message after message that others could handle. A handler that succeeds, or an empty queue, ends that.
 *   quiesce: from anywhere; no poll is begun any more. The one under way is not aborted, because SQS does not end a poll whose client hangs
 *   up: it would take a message for nobody, such as one that is just handed back, and hide it for a visibility timeout. So the last poll is
 *   waited for (LONG_POLL_S), and the messages it brings are handed back. One that has failed may live on at SQS as long: it is waited out.
 *   stop: the same, and resolves at the end of that; what has not ended by the caller's deadline is aborted.
 *
 * Handlers outlive the stop: `idle` waits for them. A second delivery of a message whose handler is running is left alone, to come
 * back after its visibility timeout: to show it at once would spend its receives and end on the dead-letter queue.
 */
export class PollLoop {
  readonly #options: PollLoopOptions;
  readonly #inHand = new Map<string, Promise<void>>();
  #run: Run | undefined;
  #wakeUp: (() => void) | undefined;
  #receivingSince: MonotonicMs | undefined;
  /** A receive that failed may go on at SQS until then. */
  #livesOnUntil: MonotonicMs = -Infinity;
  /** A handler has failed since the last receive. */
  #handlerFailed = false;
  /** Receives in a row whose handlers failed. */
  #failedReceives = 0;

  constructor(options: PollLoopOptions) {
    this.#options = options;
  }

  /** While running, or still stopping: nothing. */
  start(): void {
    if (this.#run !== undefined) return;
    const { name, logger, visibilityTimeoutS } = this.#options;
    logger.info(`${name} poll loop started (wait: ${LONG_POLL_S} s, visibility: ${visibilityTimeoutS} s)`);
    const stop = new AbortController();
    const cutOff = new AbortController();
    this.#run = { stop, cutOff, ended: this.#loop(stop.signal, cutOff.signal) };
  }

  /** Begins no further receive; the one under way goes on until `stop` has waited for it. */
  quiesce(): void {
    this.#run?.stop.abort();
    this.wake();
  }

  /** Resolves when nothing is received any more, at SQS neither: what is handed back from then on reaches others. Not before a stop. */
  get ended(): Promise<void> {
    return this.#run?.ended ?? Promise.resolve();
  }

  /** Quiesces, and resolves when nothing is received any more. @param by when a receive that is still under way is aborted */
  async stop(by: MonotonicMs): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    this.quiesce();
    const ended = new AbortController();
    void this.#options.clock.sleepUntil(by, ended.signal).then(() => run.cutOff.abort());
    await run.ended;
    ended.abort();
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#options.logger.info(`${this.#options.name} poll loop stopped`);
  }

  /** Tells the loop that there may be capacity again. */
  wake(): void {
    this.#wakeUp?.();
  }

  /** What keeps the loop from turning, or `undefined`; waiting for room is part of turning. */
  get problem(): string | undefined {
    if (this.#run === undefined) return 'not running';
    const { clock } = this.#options;
    const receivingMs = this.#receivingSince === undefined ? 0 : clock.monotonicMs() - this.#receivingSince;
    return receivingMs > LONG_POLL_S * 1_000 + HANGING_RECEIVE_MS
      ? `a receive has hung for ${Math.round(receivingMs / 1_000)} s`
      : undefined;
  }

  /** Resolves when no handler runs. */
  async idle(): Promise<void> {
    while (this.#inHand.size > 0) await Promise.all(this.#inHand.values());
  }

  async #loop(stopping: AbortSignal, cutOff: AbortSignal): Promise<void> {
    for (let failures = 0; !stopping.aborted;) {
      try {
        if (this.#handlerFailed) await this.#pauseAfterFailure(stopping);
        else await this.#turn(stopping, cutOff);
        failures = 0;
      } catch (error) {
        if (stopping.aborted) break;
        failures++;
        await this.#backOff(failures, error, stopping);
      }
    }
    if (this.#livesOnUntil > this.#options.clock.monotonicMs()) await this.#options.clock.sleepUntil(this.#livesOnUntil, cutOff);
  }

  async #turn(stopping: AbortSignal, cutOff: AbortSignal): Promise<void> {
    const { queue, capacity, onTurn, visibilityTimeoutS } = this.#options;
    const { waitSeconds, pauseMs } = this.#pace;
    const room = Math.min(MAX_ENTRIES, capacity() - this.#inHand.size);
    if (room < 1) return this.#rest(pauseMs);
    const messages = await this.#receive(() => queue.receive(room, waitSeconds, visibilityTimeoutS, cutOff), waitSeconds);
    onTurn?.();
    if (messages.length === 0) this.#failedReceives = 0;
    if (stopping.aborted) return this.#release(messages);
    for (const message of messages) this.#take(message);
    if (messages.length < room && this.#pace.pauseMs > 0) await this.#rest(this.#pace.pauseMs);
  }

  async #receive(receive: () => Promise<ReceivedMessage[]>, waitSeconds: number): Promise<ReceivedMessage[]> {
    const { clock } = this.#options;
    this.#receivingSince = clock.monotonicMs();
    try {
      return await receive();
    } catch (error) {
      this.#livesOnUntil = clock.monotonicMs() + waitSeconds * 1_000;
      throw error;
    } finally {
      this.#receivingSince = undefined;
    }
  }

  get #pace(): Pace {
    return this.#options.pace?.() ?? LONG_POLLS;
  }

  #take(message: ReceivedMessage): void {
    const { messageId, receiveCount } = message;
    if (this.#inHand.has(messageId)) {
      const fields = { ...idsOf(message), messageId, receiveCount };
      this.#options.logger.warn(`${this.#options.name}: a message in hand was delivered again`, fields);
      return;
    }
    this.#inHand.set(messageId, this.#handle(message));
  }

  async #handle(message: ReceivedMessage): Promise<void> {
    // The handler starts after the message is booked as in hand.
    await Promise.resolve();
    try {
      await this.#options.handle(message);
      this.#failedReceives = 0;
    } catch (error) {
      this.#handlerFailed = true;
      this.#tellFailed(message, error);
    } finally {
      this.#inHand.delete(message.messageId);
      this.wake();
    }
  }

  /** A mistake in the code, and a message that nobody will receive again, are for a person to look at. */
  #tellFailed(message: ReceivedMessage, error: unknown): void {
    const { name, maxReceiveCount, logger } = this.#options;
    const { messageId, receiveCount } = message;
    const isLast = receiveCount >= maxReceiveCount;
    logger[isLast || !mayPass(error) ? 'error' : 'warn'](`${name}: a message could not be handled`, {
      ...idsOf(message),
      messageId,
      receiveCount,
      maxReceiveCount,
      error: toLoggable(error),
      next: isLast ? 'this was its last receive: SQS moves it to the dead-letter queue' : 'it comes again',
    });
  }

  async #pauseAfterFailure(stopping: AbortSignal): Promise<void> {
    this.#failedReceives++;
    await this.#options.clock.sleep(this.#waitMs(this.#failedReceives), stopping);
    // Those that failed meanwhile were received together with the first.
    this.#handlerFailed = false;
  }

  #waitMs(failures: number): number {
    return fullJitterMs(this.#options.backoff ?? DEFAULT_BACKOFF, failures, () => (1 + Math.random()) / 2);
  }

  /** Until it is woken, and for no longer than that; 0: however long. */
  async #rest(limitMs: number): Promise<void> {
    const woken = new AbortController();
    this.#wakeUp = () => woken.abort();
    if (limitMs > 0) await this.#options.clock.sleep(limitMs, woken.signal);
    else await new Promise<void>((resolve) => woken.signal.addEventListener('abort', () => resolve(), { once: true }));
    this.#wakeUp = undefined;
  }

  async #backOff(failures: number, error: unknown, stopping: AbortSignal): Promise<void> {
    const { name, logger, clock } = this.#options;
    const waitMs = this.#waitMs(failures);
    logger.warn(`${name}: receiving failed; retrying`, { failures, waitMs, error: toLoggable(error) });
    await clock.sleep(waitMs, stopping);
  }

  async #release(messages: readonly ReceivedMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const { name, queue, maxReceiveCount, clock, logger } = this.#options;
    const answered = new AbortController();
    const tooLong = new AbortController();
    void clock.sleep(RELEASE_LIMIT_MS, answered.signal).then(() => tooLong.abort());
    try {
      await handBack(queue, messages, maxReceiveCount, tooLong.signal);
    } catch (error) {
      logger.warn(`${name}: messages come back only after their visibility timeout`, { count: messages.length, error: toLoggable(error) });
    } finally {
      answered.abort();
    }
  }
}
