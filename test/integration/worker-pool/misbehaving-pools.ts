import { Metrics } from '../../../src/shared/index.js';
import { SilentLogger } from '../../support/silent-logger.js';
import { PoolManagerService, type PoolOptions, type TaskOutcome, type TransferTask } from '../../../src/worker-pool/index.js';
import { poolSettings, type SettingsOverrides } from './pool-support.js';

const MISBEHAVING = new URL('./fixtures/misbehaving-thread.ts', import.meta.url);
/** A thread that obeys must do so within the grace on a busy machine, too. */
const QUICK = { abortGraceMs: 1_500, stopGraceMs: 200, restartBackoff: { baseMs: 10, capMs: 50 } };

export const LOST = { success: false, error: { code: 'THREAD_LOST', retryable: true } };
export const ABORTED = { success: false, error: { code: 'ABORTED', retryable: true } };
export const SUCCEEDED = { success: true, etag: 'etag' };

class Gauges extends Metrics {
  readonly values: Record<string, number> = {};
  increment(name: string): void {
    this.values[name] = (this.values[name] ?? 0) + 1;
  }
  gauge(name: string, value: number): void {
    this.values[name] = value;
  }
  observe(): void {}
}

/** A task whose thread goes on with it until it is aborted. */
export type LastingTask = 'wait' | 'read' | 'silent' | 'silent, heard' | 'awaits memory' | 'disobey';

/** Pools whose threads do with a task what its URL says; `close` ends them all. */
export class MisbehavingPools {
  /** Gauges and counters of the pools, by name. */
  readonly values: Record<string, number>;
  private readonly metrics = new Gauges();
  private readonly pools: PoolManagerService[] = [];
  private tasks = 0;

  constructor() {
    this.values = this.metrics.values;
  }

  create(pool: SettingsOverrides['pool'] = {}, options: PoolOptions = {}): PoolManagerService {
    const settings = poolSettings({ pool: { size: 1, tasksPerWorker: 3, ...pool } });
    const created = new PoolManagerService(settings, new SilentLogger(), {
      threadUrl: MISBEHAVING,
      metrics: this.metrics,
      ...options,
      timings: { ...QUICK, ...options.timings },
    });
    this.pools.push(created);
    return created;
  }

  async started(pool?: SettingsOverrides['pool'], options?: PoolOptions): Promise<PoolManagerService> {
    const created = this.create(pool, options);
    await created.start();
    return created;
  }

  task(what: string, taskId = `task-${this.tasks++}`): TransferTask {
    return { taskId, jobId: 'job', url: what, s3Bucket: 'bucket', s3Key: 'key', attempt: 1 };
  }

  run(pool: PoolManagerService, what: string, taskId?: string): Promise<TaskOutcome> {
    return pool.run(this.task(what, taskId), { signal: new AbortController().signal });
  }

  /** On a thread that has no other task. */
  runAlone(pool: PoolManagerService, what: string): Promise<TaskOutcome> {
    return pool.run(this.task(what), { signal: new AbortController().signal, alone: true });
  }

  /** A task that runs once its progress has been told; `abort` aborts it. */
  async running(pool: PoolManagerService, what: LastingTask, taskId?: string) {
    const controller = new AbortController();
    let outcome: Promise<TaskOutcome> | undefined;
    await new Promise<void>((resolve) => {
      outcome = pool.run(this.task(what, taskId), { signal: controller.signal, onProgress: () => resolve() });
    });
    return { outcome, abort: () => controller.abort() };
  }

  async close(): Promise<void> {
    await Promise.all(this.pools.splice(0).map((pool) => pool.stop()));
  }
}
