import type { Agent } from 'undici';
import { COPY_LIMITS } from '../domain/copy-plan.js';
import { IN_HAND_PER_PLACE } from '../domain/places.js';
import type { FromThreadMessage, ThreadSettings, ToThreadMessage } from '../protocol/thread-messages.schema.js';
import { AskedAccesses } from './asked-accesses.js';
import { ExistingObjects } from './existing-objects.js';
import { guardedAgent } from './guarded-agent.js';
import { MemoryBudget } from './memory-budget.js';
import { Multiparts } from './multiparts.js';
import { ObjectStore } from './object-store.js';
import { S3Requests } from './s3-requests.js';
import { ServerCopy } from './server-copy.js';
import { SourceGuard } from './source-guard.js';
import { SourceOpener } from './source-opener.js';
import { TaskRunner } from './task-runner.js';
import { Transfer } from './transfer.js';
import { Uploader } from './uploader.js';

/** All that one thread has, behind its messages; without a thread around it, it is the pool's inline mode. */
export class TransferThread {
  private readonly agent: Agent;
  private readonly s3: S3Requests;
  private readonly s3Sources: S3Requests;
  private readonly accesses: AskedAccesses;
  private readonly runner: TaskRunner;
  private closing: Promise<void> | undefined;

  constructor(
    settings: ThreadSettings,
    private readonly send: (message: FromThreadMessage) => void,
    private readonly onClosed: () => void,
  ) {
    const fullObjectCrc32 = settings.s3Checksums === 'full-object';
    const guard = new SourceGuard(settings);
    this.agent = guardedAgent(guard, settings.connectionsPerHost);
    this.accesses = new AskedAccesses(send);
    // An upload holds a connection for one request, which needs nothing else: those that wait for one get it.
    this.s3 = new S3Requests(this.accesses.known, settings.tasksPerWorker * IN_HAND_PER_PLACE * settings.uploadConcurrency);
    // A source in S3 holds its connection until its upload has taken all of it. With a limit, one that has memory and must be asked for its
    // rest would wait for those that wait for memory; there are never more than tasks, and a socket is opened when it is needed.
    this.s3Sources = new S3Requests(this.accesses.known, null);
    const store = new ObjectStore(this.s3, { fullObjectCrc32 });
    const multiparts = new Multiparts(store, send);
    const budget = new MemoryBudget(settings.memoryBytes, (tasks) => send({ type: 'MEMORY_AWAITED', payload: { tasks } }));
    const uploader = new Uploader(store, multiparts, budget, {
      concurrency: settings.uploadConcurrency,
      fullObjectCrc32,
    });
    const copy = new ServerCopy(guard, store, multiparts, { ...COPY_LIMITS, concurrency: settings.uploadConcurrency });
    const sources = new SourceOpener(guard, this.agent, this.s3Sources, settings.userAgent);
    const transfer = new Transfer(sources, new ExistingObjects(store), uploader, copy, settings);
    this.runner = new TaskRunner(transfer, settings.taskTimeoutMs, send);
  }

  receive(message: ToThreadMessage): void {
    switch (message.type) {
      case 'PROCESS_TASK':
        return this.runner.start(message.payload);
      case 'ABORT_TASK':
        return this.runner.abort(message.payload.taskId, message.payload.reason);
      case 'BUCKET_ACCESS':
        return this.accesses.answer(message.payload);
      case 'PING':
        return this.send({ type: 'PONG', payload: {} });
      case 'SHUTDOWN':
        this.closing ??= this.close();
    }
  }

  private async close(): Promise<void> {
    await this.runner.close();
    await this.agent.destroy();
    await this.s3.close();
    await this.s3Sources.close();
    this.onClosed();
  }
}
