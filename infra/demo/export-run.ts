import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { DescribeExecutionCommand, StartExecutionCommand, type DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { z } from 'zod';
import type { Progress } from '../../src/cli/index.js';
import { SUBMISSIONS_PREFIX } from '../../src/intake/index.js';
import type { LocalResources } from '../local-aws/local-aws.js';
import type { DemoClients } from './demo-clients.js';

const POLL_MS = 250;

const jobRow = z.object({
  status: z.string(),
  totalTasks: z.number().optional(),
  completedTasks: z.number(),
  failedTasks: z.number(),
  bytesProcessed: z.number(),
  resultKey: z.string().optional(),
});
/** What the demo reads of a row in ExportJobs. */
export type JobRow = z.infer<typeof jobRow>;

/** One execution of the shipped state machine, as anyone with an AWS client starts and follows it. */
export class ExportRun {
  private constructor(
    private readonly clients: DemoClients,
    private readonly resources: LocalResources,
    readonly executionArn: string,
  ) {}

  static async start(
    clients: DemoClients,
    resources: LocalResources,
    list: Uint8Array | string,
    options: { toleratedFailureCount: number },
  ): Promise<ExportRun> {
    const object = { Bucket: resources.bucket, Key: `${SUBMISSIONS_PREFIX}demo` };
    await clients.s3.send(new PutObjectCommand({ ...object, Body: list }));
    const input = JSON.stringify({
      exportId: 'demo',
      userId: 'demo',
      source: { manifest: `s3://${object.Bucket}/${object.Key}` },
      options,
    });
    const { executionArn = '' } = await clients.states.send(
      new StartExecutionCommand({ stateMachineArn: resources.stateMachineArn, input }),
    );
    return new ExportRun(clients, resources, executionArn);
  }

  /** The name of the execution. */
  get jobId(): string {
    return this.executionArn.slice(this.executionArn.lastIndexOf(':') + 1);
  }

  get prefix(): string {
    return `exports/${this.jobId}/`;
  }

  /**
   * Until the execution has ended.
   * @param look called at each look; what it throws ends the waiting
   */
  async ended(look: (progress: Progress) => Promise<void>, signal: AbortSignal): Promise<DescribeExecutionOutput> {
    for (;;) {
      const execution = await this.clients.states.send(new DescribeExecutionCommand({ executionArn: this.executionArn }));
      const row = await this.row();
      await look({
        label: row?.status ?? 'WAITING',
        completed: row?.completedTasks ?? 0,
        failed: row?.failedTasks ?? 0,
        total: row?.totalTasks,
        bytes: row?.bytesProcessed ?? 0,
        ended: hasEnded(row),
      });
      if (execution.status !== 'RUNNING') return execution;
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  /** The job's row once it has its last status, which is written after the token's answer; at the latest after 5 s. */
  async finalRow(signal: AbortSignal): Promise<JobRow | undefined> {
    const deadline = performance.now() + 5_000;
    for (;;) {
      const row = await this.row();
      if (row === undefined || hasEnded(row) || performance.now() > deadline) return row;
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  private async row(): Promise<JobRow | undefined> {
    const { Item } = await this.clients.documents.send(
      new GetCommand({ TableName: this.resources.jobsTable, Key: { jobId: this.jobId }, ConsistentRead: true }),
    );
    return Item === undefined ? undefined : jobRow.parse(Item);
  }
}

function hasEnded(row: JobRow | undefined): boolean {
  return row !== undefined && ['COMPLETED', 'FAILED', 'CANCELLED'].includes(row.status);
}
