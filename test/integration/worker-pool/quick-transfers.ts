import { COPY_LIMITS } from '../../../src/worker-pool/domain/copy-plan.js';
import { ExistingObjects } from '../../../src/worker-pool/threads/existing-objects.js';
import { guardedAgent } from '../../../src/worker-pool/threads/guarded-agent.js';
import { BucketAccesses } from '../../../src/worker-pool/threads/bucket-accesses.js';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';
import { Multiparts } from '../../../src/worker-pool/threads/multiparts.js';
import { ObjectStore } from '../../../src/worker-pool/threads/object-store.js';
import { S3Requests } from '../../../src/worker-pool/threads/s3-requests.js';
import { ServerCopy } from '../../../src/worker-pool/threads/server-copy.js';
import { SourceGuard } from '../../../src/worker-pool/threads/source-guard.js';
import { SourceOpener } from '../../../src/worker-pool/threads/source-opener.js';
import { TaskRunner } from '../../../src/worker-pool/threads/task-runner.js';
import { Transfer } from '../../../src/worker-pool/threads/transfer.js';
import { Uploader } from '../../../src/worker-pool/threads/uploader.js';
import { S3Access } from '../../../src/worker-pool/adapters/s3-access.js';
import type { TaskOutcome, TransferTask } from '../../../src/worker-pool/index.js';
import { MIB, poolSettings } from './pool-support.js';

const CONNECTIONS = 32;

export interface Limits {
  headersMs: number;
  stallTimeoutMs: number;
  taskTimeoutMs: number;
  /** Of all parts in flight; 64 without it. */
  memoryMb?: number;
}

/**
 * No machine is so busy that these are overrun: a test sets the one limit close by that it is
 * about.
 */
export const FAR: Limits = { headersMs: 120_000, stallTimeoutMs: 120_000, taskTimeoutMs: 120_000 };

/** Transfers as a worker thread makes them, but with limits that a test can wait for: the service has them at a minute and more. */
export class QuickTransfers {
  private readonly waiting = new Map<string, (outcome: TaskOutcome) => void>();
  /** What the pool hears of a task's source: `SILENT`, `HEARD`, `READ`. */
  private readonly signs = new Map<string, string[]>();
  private readonly runner: TaskRunner;

  private constructor(
    transfer: Transfer,
    taskTimeoutMs: number,
    private readonly connections: { close(): Promise<unknown> },
  ) {
    this.runner = new TaskRunner(transfer, taskTimeoutMs, (message) => {
      if (message.type === 'TASK_SILENT' || message.type === 'TASK_HEARD' || message.type === 'TASK_READ')
        this.signsOf(message.payload).push(message.type.replace('TASK_', ''));
      if (message.type !== 'TASK_COMPLETED') return;
      const { taskId, jobId: _, ...outcome } = message.payload;
      this.waiting.get(taskId)?.(outcome);
    });
  }

  static create({ headersMs, stallTimeoutMs, taskTimeoutMs, memoryMb = 64 }: Limits): QuickTransfers {
    const { access, aws } = poolSettings();
    const guard = new SourceGuard(access);
    const agent = guardedAgent(guard, CONNECTIONS, { connectMs: 10_000, addressMs: 2_500, headersMs });
    const s3Access = new S3Access(aws);
    const s3 = new S3Requests(new BucketAccesses((bucket) => s3Access.of(bucket)), CONNECTIONS);
    const store = new ObjectStore(s3, { fullObjectCrc32: true });
    const multiparts = new Multiparts(store, () => {});
    const uploader = new Uploader(store, multiparts, new MemoryBudget(memoryMb * MIB), { concurrency: 4, fullObjectCrc32: true });
    const settings = { destinationBuckets: access.destinationBuckets, stallTimeoutMs, minBytesPerSecond: 100 };
    const sources = new SourceOpener(guard, agent, s3, 'tests');
    const transfer = new Transfer(
      sources,
      new ExistingObjects(store),
      uploader,
      new ServerCopy(guard, store, multiparts, { ...COPY_LIMITS, concurrency: 4 }),
      settings,
    );
    return new QuickTransfers(transfer, taskTimeoutMs, { close: () => Promise.all([agent.destroy(), s3.close()]) });
  }

  run(task: TransferTask): Promise<TaskOutcome> {
    return new Promise((resolve) => {
      this.waiting.set(task.taskId, resolve);
      this.runner.start(task);
    });
  }

  signsOf({ taskId }: { taskId: string }): string[] {
    const signs = this.signs.get(taskId) ?? [];
    this.signs.set(taskId, signs);
    return signs;
  }

  async close(): Promise<void> {
    await this.runner.close();
    await this.connections.close();
  }
}
