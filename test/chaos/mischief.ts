import { setTimeout as sleep } from 'node:timers/promises';
import { StopExecutionCommand } from '@aws-sdk/client-sfn';
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import type { ChaosJob } from './chaos-job.js';
import type { Coordinator } from './coordinator.js';
import type { PlannedEvent } from './plan.js';
import { SeededRandom } from './random.js';
import type { World } from './world.js';

/** Reordering: SQS shows some of the repeated messages later than others. */
const MAX_DELAY_S = 2;
/** A coordinator that has nothing more to write is not waited for. */
const STOP_WAIT_MS = 10_000;

/** Does to the world what the plan says. */
export class Mischief {
  /** What was done, in words, for whoever reads of a failed run. */
  readonly diary: string[] = [];
  private readonly random: SeededRandom;
  private readonly startedAt = performance.now();

  constructor(
    private readonly world: World,
    private readonly jobs: readonly ChaosJob[],
    seed: number,
  ) {
    this.random = new SeededRandom(seed, 'mischief');
  }

  /** Resolves when each event is over and whoever was ended by it is back. */
  async perform(events: readonly PlannedEvent[]): Promise<void> {
    await Promise.all(
      events.map(async (event) => {
        await sleep(event.atMs - (performance.now() - this.startedAt));
        this.note(event.kind);
        await this.act(event);
      }),
    );
  }

  private async act(event: PlannedEvent): Promise<void> {
    switch (event.kind) {
      case 'kill':
        await Promise.all(event.who.map((who) => this.killFor(this.coordinator(who), event.backAfterMs)));
        return;
      case 'stop-at-write':
        return this.stopAtWrite(this.coordinator(event.who), event.write, event.backAfterMs);
      case 'replace':
        return this.coordinator(event.who).replace();
      case 'freeze':
        return this.coordinator(event.who).freeze(event.forMs);
      case 'jump':
        return this.coordinator(event.who).jump(event.byMs);
      case 'cut-off':
        return this.coordinator(event.who).cutOff(event.forMs);
      case 'repeat-batches':
        return this.repeatBatches(event.messages);
      case 'repeat-job':
        return this.repeatJob();
      case 'stop-execution':
        return this.stopExecution();
      case 'lose-batches':
        return this.loseBatches(event.messages);
    }
  }

  private async killFor(coordinator: Coordinator, backAfterMs: number): Promise<void> {
    await coordinator.kill();
    await sleep(backAfterMs);
    await coordinator.ensureStarted();
  }

  private async stopAtWrite(coordinator: Coordinator, write: number, backAfterMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      coordinator.proxy.stopAtWrite(write, async (name) => {
        this.note(`${coordinator.name} killed at ${name}`);
        await coordinator.kill();
        resolve();
      });
      setTimeout(resolve, STOP_WAIT_MS).unref();
    });
    await sleep(backAfterMs);
    await coordinator.ensureStarted();
  }

  private async repeatBatches(messages: number): Promise<void> {
    const job = this.anyJob();
    const { batchCount, run } = job === undefined ? {} : await this.rowOf(job);
    if (job === undefined || batchCount === undefined) return;
    for (let sent = 0; sent < messages; sent++)
      await this.world.clients.sqs.send(
        new SendMessageCommand({
          QueueUrl: this.world.aws.resources.batchesQueueUrl,
          MessageBody: JSON.stringify({ v: 1, jobId: job.jobId, batchNo: this.random.integer(0, batchCount - 1), run }),
          MessageGroupId: job.jobId,
          DelaySeconds: this.random.integer(0, MAX_DELAY_S),
        }),
      );
  }

  /** With any token that the execution has had. */
  private async repeatJob(): Promise<void> {
    const job = this.anyJob();
    const tokens = this.world.aws.stepFunctions.tokens().filter(({ executionArn }) => executionArn === job?.executionArn);
    const taskToken = tokens[this.random.integer(0, tokens.length - 1)]?.token;
    if (job === undefined || taskToken === undefined) return;
    const MessageBody = JSON.stringify({ ...job.input, jobId: job.jobId, taskToken });
    await this.world.clients.sqs.send(new SendMessageCommand({ QueueUrl: this.world.aws.resources.jobsQueueUrl, MessageBody }));
  }

  private async stopExecution(): Promise<void> {
    const job = this.anyJob();
    if (job !== undefined) await this.world.clients.states.send(new StopExecutionCommand({ executionArn: job.executionArn }));
  }

  private async loseBatches(messages: number): Promise<void> {
    const queue = { QueueUrl: this.world.aws.resources.batchesQueueUrl };
    const { Messages = [] } = await this.world.clients.sqs.send(new ReceiveMessageCommand({ ...queue, MaxNumberOfMessages: messages }));
    for (const { ReceiptHandle } of Messages) await this.world.clients.sqs.send(new DeleteMessageCommand({ ...queue, ReceiptHandle }));
    this.note(`${Messages.length} batch messages lost`);
  }

  private async rowOf(job: ChaosJob): Promise<{ batchCount?: number; run?: number }> {
    const row = { TableName: this.world.aws.resources.jobsTable, Key: { jobId: job.jobId } };
    const { Item } = await this.world.clients.documents.send(new GetCommand({ ...row, ConsistentRead: true }));
    return Item ?? {};
  }

  /** Undefined before the first has been started. */
  private anyJob(): ChaosJob | undefined {
    return this.jobs[this.random.integer(0, this.jobs.length - 1)];
  }

  private coordinator(who: number): Coordinator {
    const coordinator = this.world.coordinators[who];
    if (coordinator === undefined) throw new Error(`There is no coordinator ${who}`);
    return coordinator;
  }

  private note(what: string): void {
    this.diary.push(`${((performance.now() - this.startedAt) / 1_000).toFixed(2)} s ${what}`);
  }
}
