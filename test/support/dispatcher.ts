import { TaskDispatcherService } from '../../src/batches/application/task-dispatcher.service.js';
import type { TaskSource } from '../../src/batches/application/task-source.js';
import { WorkSigns } from '../../src/batches/application/work-signs.js';
import type { TaskOutcome } from '../../src/worker-pool/index.js';
import { FakeTransferPool } from './fakes/fake-transfer-pool.js';
import { RecordingMetrics } from './fakes/recording-metrics.js';
import { RecordingLogger } from './fakes/recording-logger.js';
import { newClock } from './each-clock.js';

export const SLOW = { code: 'HTTP_503', retryable: true };

/** A batch of some tasks; its keys are `<job>/<position>`. */
export class FakeTaskSource implements TaskSource {
  readonly maxConcurrency: number | undefined;
  run = 1;
  hasStored = false;
  readonly abort = new AbortController();
  readonly signal = this.abort.signal;
  readonly results: { position: number; result: TaskOutcome; attempts: number }[] = [];
  progressed = 0;
  /** Bytes that have arrived, by position. */
  readonly inHand = new Map<number, number>();
  readonly pausedUntil: number[] = [];
  readonly pausedHosts = new Set<string | undefined>();
  readonly destinationRefusals: string[] = [];
  #next = 0;

  constructor(
    readonly jobId: string,
    private readonly tasks: number,
    maxConcurrency?: number,
    private readonly hostOf: (position: number) => string = () => 'origin.test',
  ) {
    this.maxConcurrency = maxConcurrency;
  }

  next(): ReturnType<TaskSource['next']> {
    if (this.#next >= this.tasks) return undefined;
    const position = this.#next++;
    const s3Key = `${this.jobId}/${position}`;
    const url = `https://${this.hostOf(position)}/`;
    return { position, task: { taskId: s3Key, jobId: this.jobId, url, s3Bucket: 'exports', s3Key } };
  }

  get handedOut(): number {
    return this.#next;
  }

  onResult(position: number, result: TaskOutcome, attempts: number): void {
    this.results.push({ position, result, attempts });
  }

  onProgress(position: number, bytes: number): void {
    this.progressed++;
    this.inHand.set(position, bytes);
  }

  onTryEnd(position: number): void {
    this.inHand.delete(position);
  }

  onDestinationRefused(message: string): void {
    this.destinationRefusals.push(message);
  }

  onPause(host: string | undefined, until: number): void {
    this.pausedUntil.push(until);
    this.pausedHosts.add(host);
  }
}

/** A dispatcher with so many places in its pool. */
export function aDispatcher(places = 4, maxConnectionsPerHost = 10_000, clock = newClock()) {
  const metrics = new RecordingMetrics();
  const pool = new FakeTransferPool(places);
  const signs = new WorkSigns(clock);
  const logger = new RecordingLogger();
  const dispatcher = new TaskDispatcherService(pool, { taskMaxAttempts: 4, maxConnectionsPerHost }, { signs, clock, logger, metrics });
  const add = (source: FakeTaskSource) => {
    dispatcher.add(source);
    return source;
  };
  return { clock, logger, metrics, pool, signs, dispatcher, add };
}
