import { DescribeExecutionCommand, StartExecutionCommand, type DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { GetObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { startLocalAws, type LocalAws, type LocalAwsOptions } from '../../infra/local-aws/local-aws.js';
import { ExportService, type Signalled } from '../support/export-service.js';
import { createAwsClients, eventually, GIVE_UP_MS, type AwsClients } from '../support/local-aws.js';
import { Origin } from '../support/origin.js';
import { brokenRules, SECRET } from '../support/standing-rules.js';

export { SECRET };

/** Each look is a call to the embedded AWS, which works in this process, too. */
const POLL_MS = 100;

export interface ExportInput {
  source?: object;
  destination?: object;
  options?: object;
  metadata?: object;
}

/** An embedded AWS, a source of files, and the built service as a process; everything is ended by `close`. */
export class ExportFixture {
  private readonly services: ExportService[] = [];

  private constructor(
    readonly aws: LocalAws,
    readonly clients: AwsClients,
    readonly origin: Origin,
  ) {}

  static async start(options: LocalAwsOptions = {}): Promise<ExportFixture> {
    const aws = await startLocalAws(options);
    return new ExportFixture(aws, createAwsClients(aws.environment()), await Origin.start());
  }

  async startService(environment: Record<string, string> = {}, signalled?: Signalled): Promise<ExportService> {
    const service = await ExportService.start({ ...this.aws.environment(), ...environment }, signalled);
    this.services.push(service);
    return service;
  }

  /** Starts the shipped state machine, or another one; the execution's name is the jobId. */
  async startExecution(input: ExportInput, stateMachineArn = this.aws.resources.stateMachineArn): Promise<{ arn: string; jobId: string }> {
    const { executionArn = '' } = await this.clients.states.send(
      new StartExecutionCommand({
        stateMachineArn,
        input: JSON.stringify({ exportId: 'export-1', userId: 'user-1', ...input }),
      }),
    );
    return { arn: executionArn, jobId: executionArn.split(':').at(-1) ?? '' };
  }

  async ended(arn: string, timeoutMs = GIVE_UP_MS): Promise<DescribeExecutionOutput> {
    return eventually(
      async () => {
        const execution = await this.clients.states.send(new DescribeExecutionCommand({ executionArn: arn }));
        return execution.status === 'RUNNING' ? undefined : execution;
      },
      { timeoutMs, intervalMs: POLL_MS },
    );
  }

  async jobRow(jobId: string): Promise<Record<string, unknown> | undefined> {
    const { Item } = await this.clients.documents.send(
      new GetCommand({ TableName: this.aws.resources.jobsTable, Key: { jobId }, ConsistentRead: true }),
    );
    return Item;
  }

  /** The job's row once it is in this status. */
  async jobIn(jobId: string, status: string, timeoutMs = GIVE_UP_MS): Promise<Record<string, unknown>> {
    return eventually(
      async () => {
        const row = await this.jobRow(jobId);
        return row?.status === status ? row : undefined;
      },
      { timeoutMs, intervalMs: POLL_MS },
    );
  }

  async batchRows(jobId: string): Promise<Record<string, unknown>[]> {
    const { Items = [] } = await this.clients.documents.send(
      new QueryCommand({
        TableName: this.aws.resources.batchesTable,
        KeyConditionExpression: 'jobId = :jobId',
        ExpressionAttributeValues: { ':jobId': jobId },
        ConsistentRead: true,
      }),
    );
    return Items;
  }

  async sendJobMessage(body: string): Promise<void> {
    await this.clients.sqs.send(new SendMessageCommand({ QueueUrl: this.aws.resources.jobsQueueUrl, MessageBody: body }));
  }

  async objectText(key: string): Promise<string> {
    const { Body } = await this.clients.s3.send(new GetObjectCommand({ Bucket: this.aws.resources.bucket, Key: key }));
    return (await Body?.transformToString()) ?? '';
  }

  /** Lines of a JSONL object, parsed. */
  async objectLines(key: string): Promise<Record<string, unknown>[]> {
    const lines = (await this.objectText(key)).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** What the job's first run lists as succeeded, in the manifest's order. */
  async resultLines(jobId: string, prefix = `exports/${jobId}/`): Promise<Record<string, unknown>[]> {
    const manifest = JSON.parse(await this.objectText(`${prefix}_export/${jobId}/run-1/manifest.json`)) as {
      ResultFiles: { SUCCEEDED: { Key: string }[] };
    };
    return (await Promise.all(manifest.ResultFiles.SUCCEEDED.map(({ Key }) => this.objectLines(Key)))).flat();
  }

  /** Keys of the job's files, without its prefix and what lies under `_export/`. */
  async fileKeys(jobId: string, prefix = `exports/${jobId}/`): Promise<string[]> {
    const pages = paginateListObjectsV2({ client: this.clients.s3 }, { Bucket: this.aws.resources.bucket, Prefix: prefix });
    const keys: string[] = [];
    for await (const { Contents = [] } of pages) keys.push(...Contents.map(({ Key = '' }) => Key.slice(prefix.length)));
    return keys.filter((key) => !key.startsWith('_export/'));
  }

  /** Files of `count` small bodies at the origin. */
  smallFiles(count: number, folder = 'small'): { url: string; key: string }[] {
    return Array.from({ length: count }, (_, index) => ({
      url: `${this.origin.file(`/${folder}/${index}`, `file ${index} of ${folder} ${SECRET}`)}?signature=${SECRET}`,
      key: `${folder}/${String(index).padStart(5, '0')}.txt`,
    }));
  }

  /**
   * @param mayBeScanned tables that people's commands may read whole
   * @throws when a rule that holds for every run was broken: see `brokenRules`
   */
  async close(mayBeScanned: readonly string[] = []): Promise<void> {
    await Promise.all(this.services.map((service) => service.kill()));
    this.clients.destroy();
    await this.origin.close();
    await this.aws.close();
    const broken = brokenRules(this.aws, this.services, mayBeScanned);
    if (broken.length > 0) throw new Error(broken.join('\n'));
  }
}
