import type { S3Client } from '@aws-sdk/client-s3';
import type { Agent } from 'undici';
import { toThreadMessageSchema, type FromThreadMessage, type ThreadSettings } from '../protocol/thread-messages.schema.js';
import { guardedAgent } from './guarded-agent.js';
import { MemoryBudget } from './memory-budget.js';
import { ObjectStore } from './object-store.js';
import { createS3Client } from './s3-client.js';
import { SourceGuard } from './source-guard.js';
import { SourceOpener } from './source-opener.js';
import { TaskRunner } from './task-runner.js';
import { Transfer } from './transfer.js';
import { Uploader } from './uploader.js';

/** All that one thread has, behind its messages; without a thread around it, it is the pool's inline mode. */
export class TransferThread {
  private readonly agent: Agent;
  private readonly s3: S3Client;
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
    this.s3 = createS3Client({ ...settings, maxSockets: settings.tasksPerWorker * settings.uploadConcurrency });
    const store = new ObjectStore(this.s3, { fullObjectCrc32 });
    const uploader = new Uploader(store, new MemoryBudget(settings.memoryBytes), settings.uploadConcurrency);
    const transfer = new Transfer(new SourceOpener(guard, this.agent, this.s3), store, uploader, { ...settings, fullObjectCrc32 });
    this.runner = new TaskRunner(transfer, settings.taskTimeoutMs, send);
  }

  /** @throws ZodError for what is not a message of the protocol: only a bug sends it */
  receive(raw: unknown): void {
    const message = toThreadMessageSchema.parse(raw);
    switch (message.type) {
      case 'PROCESS_TASK':
        return this.runner.start(message.payload);
      case 'ABORT_TASK':
        return this.runner.abort(message.payload.taskId, message.payload.reason);
      case 'PING':
        return this.send({ type: 'PONG', payload: {} });
      case 'SHUTDOWN':
        this.closing ??= this.close();
    }
  }

  private async close(): Promise<void> {
    await this.runner.close();
    await this.agent.destroy();
    this.s3.destroy();
    this.onClosed();
  }
}
