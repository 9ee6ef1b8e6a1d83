import { AppError, chunksOf, toLoggable, type AppLogger, type Clock, type Metrics, type MonotonicMs } from '../../shared/index.js';
import { MAX_ENTRIES, type VisibilityOutcome, type VisibilityPort } from './sqs-messages.js';
import { MessageHeartbeat, type HeartbeatTimer, type HeldMessage, type VisibilityHeartbeat } from './visibility-heartbeat.js';

/** How much longer than an interval a stop waits for the call in flight. */
const STOP_GRACE_MS = 5_000;
const MAX_TIMEOUT_S = 43_200;

export interface VisibilitySettings {
  intervalMs: number;
  /** What receive asks for and each renewal asks for again. */
  timeoutS: number;
}

interface Alarm {
  at: MonotonicMs;
  cancel: AbortController;
}

interface Ask {
  heartbeat: MessageHeartbeat;
  timeoutS: number;
}

/** The visibility heartbeats of a process: one timer for all, their renewals in calls of up to 10. */
export class VisibilityHeartbeats implements HeartbeatTimer {
  readonly intervalMs: number;
  readonly timeoutS: number;
  readonly #running = new Set<MessageHeartbeat>();
  #alarm: Alarm | undefined;

  /** @throws AppError `VISIBILITY_SETTINGS` (fatal) naming the harm that the settings would do */
  constructor(
    private readonly port: VisibilityPort,
    settings: VisibilitySettings,
    private readonly tools: { clock: Clock; logger: AppLogger; metrics: Metrics },
  ) {
    refuseHarmful(settings);
    this.intervalMs = settings.intervalMs;
    this.timeoutS = settings.timeoutS;
  }

  /**
   * The first renewal is due an interval after the receive, however late the start.
   * @throws AppError `VISIBILITY_SETTINGS` (fatal) without a queue or a handle
   */
  forMessage(message: HeldMessage): VisibilityHeartbeat {
    if (message.queueUrl === '' || message.receiptHandle === '')
      throw refusal(
        'A visibility heartbeat needs a queue URL and a receipt handle: without them the message would show up again while it is worked on',
      );
    return new MessageHeartbeat(message, this);
  }

  nowMs(): MonotonicMs {
    return this.tools.clock.monotonicMs();
  }

  started(heartbeat: MessageHeartbeat): void {
    this.#running.add(heartbeat);
    this.#arm();
  }

  async stopped(heartbeat: MessageHeartbeat): Promise<void> {
    this.#running.delete(heartbeat);
    this.#arm();
    if (heartbeat.call === undefined) return;
    const settled = new AbortController();
    void heartbeat.call.then(() => settled.abort());
    await this.tools.clock.sleep(this.intervalMs + STOP_GRACE_MS, settled.signal);
    if (!settled.signal.aborted)
      this.tools.logger.warn('A visibility renewal is still in flight after the stop', { messageId: heartbeat.message.messageId });
  }

  /** Sleeps until the next message needs a look; forgets the former sleep. */
  #arm(): void {
    let at = Infinity;
    for (const heartbeat of this.#running) at = Math.min(at, heartbeat.nextLookAt);
    if (at === (this.#alarm?.at ?? Infinity)) return;
    this.#alarm?.cancel.abort();
    this.#alarm = undefined;
    if (at === Infinity) return;
    const alarm = { at, cancel: new AbortController() };
    this.#alarm = alarm;
    void this.#ring(alarm);
  }

  async #ring(alarm: Alarm): Promise<void> {
    await this.tools.clock.sleepUntil(alarm.at, alarm.cancel.signal);
    if (this.#alarm === alarm) this.#turn();
  }

  #turn(): void {
    this.#alarm = undefined;
    const nowMs = this.nowMs();
    const asksByQueue = new Map<string, Ask[]>();
    for (const heartbeat of this.#running) {
      if (heartbeat.hasExpired(nowMs)) this.#expire(heartbeat);
      // What is due soon joins in: fewer calls, and early does no harm.
      else if (heartbeat.isDue(nowMs + this.intervalMs / 10)) {
        const timeoutS = heartbeat.timeoutToAskS(nowMs);
        if (timeoutS === undefined) continue;
        const { queueUrl } = heartbeat.message;
        asksByQueue.set(queueUrl, [...(asksByQueue.get(queueUrl) ?? []), { heartbeat, timeoutS }]);
      }
    }
    for (const [queueUrl, asks] of asksByQueue)
      for (const chunk of chunksOf(asks, MAX_ENTRIES)) {
        const call = this.#renew(queueUrl, chunk);
        for (const { heartbeat } of chunk) heartbeat.call = call;
      }
    this.#arm();
  }

  async #renew(queueUrl: string, asks: readonly Ask[]): Promise<void> {
    const askedAt = this.nowMs();
    const outcomes = await this.#call(queueUrl, asks);
    for (const [position, ask] of asks.entries()) {
      ask.heartbeat.call = undefined;
      this.#settle(ask, outcomes[position] ?? { kind: 'failed', cause: undefined }, askedAt);
    }
    this.#arm();
  }

  /** Never rejects; aborted after an interval, so that a hanging call cannot keep the next one from being made. */
  async #call(queueUrl: string, asks: readonly Ask[]): Promise<VisibilityOutcome[]> {
    const changes = asks.map(({ heartbeat, timeoutS }) => ({ receiptHandle: heartbeat.message.receiptHandle, timeoutS }));
    const tooLong = new AbortController();
    const answered = new AbortController();
    void this.tools.clock.sleep(this.intervalMs, answered.signal).then(() => tooLong.abort());
    try {
      return await this.port.changeVisibilityBatch(queueUrl, changes, tooLong.signal);
    } catch (cause) {
      return asks.map(() => ({ kind: 'failed', cause }));
    } finally {
      answered.abort();
    }
  }

  #settle({ heartbeat, timeoutS }: Ask, outcome: VisibilityOutcome, askedAt: MonotonicMs): void {
    switch (outcome.kind) {
      case 'changed':
        heartbeat.renewed(askedAt, timeoutS);
        return this.#count('renewed');
      case 'failed':
        heartbeat.failed(outcome.cause);
        this.tools.logger.debug('A visibility renewal failed and is tried again', { error: toLoggable(outcome.cause) });
        return this.#count('failed');
      case 'gone':
        if (heartbeat.gone(outcome.code)) this.#lost(heartbeat, 'lost');
        return;
      default:
        outcome satisfies never;
    }
  }

  #expire(heartbeat: MessageHeartbeat): void {
    heartbeat.expired();
    this.#lost(heartbeat, heartbeat.error?.code === 'VISIBILITY_CAP_REACHED' ? 'capped' : 'lost');
  }

  #lost(heartbeat: MessageHeartbeat, outcome: string): void {
    this.#running.delete(heartbeat);
    this.#count(outcome);
    this.tools.logger.warn('A message in hand was lost', { messageId: heartbeat.message.messageId, error: toLoggable(heartbeat.error) });
  }

  #count(outcome: string): void {
    this.tools.metrics.increment('sqs_visibility_heartbeats_total', { outcome });
  }
}

function refuseHarmful({ intervalMs, timeoutS }: VisibilitySettings): void {
  if (!(intervalMs > 0))
    throw refusal(`The visibility heartbeat interval must be over 0 ms, not ${intervalMs}: it would call SQS without a pause`);
  if (!Number.isInteger(timeoutS) || timeoutS <= 0 || timeoutS > MAX_TIMEOUT_S)
    throw refusal(`The visibility timeout must be 1 to ${MAX_TIMEOUT_S} whole seconds, not ${timeoutS}: SQS would reject every renewal`);
  if (intervalMs > (timeoutS * 1_000) / 3)
    throw refusal(
      `The visibility heartbeat interval (${intervalMs} ms) is over a third of the visibility timeout (${timeoutS} s): ` +
        'two failed renewals would show the message to a second worker while the first still has it',
    );
}

function refusal(message: string): AppError {
  return new AppError('VISIBILITY_SETTINGS', message, { disposition: 'fatal' });
}
