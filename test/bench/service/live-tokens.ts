import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { DeleteMessageBatchCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { DynamoDbJobStateRepositoryAdapter } from '../../../src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import { SystemClock } from '../../../src/shared/index.js';
import { aNewJob } from '../../support/builders.js';
import { SilentLogger } from '../../support/silent-logger.js';
import type { ServiceWorld } from './service-world.js';

const AT_A_TIME = 50;

/** Executions that wait for their tokens, with rows of jobs that the service has to beat for. No service may run yet: it would take the messages. */
export async function startLiveTokens({ clients, environment }: ServiceWorld, count: number): Promise<void> {
  const { states, sqs, documents } = clients;
  const { STATE_MACHINE_ARN: stateMachineArn, SQS_JOBS_QUEUE_URL: QueueUrl, DYNAMODB_JOBS_TABLE: table = '' } = environment;
  const input = JSON.stringify({ exportId: 'bench', userId: 'bench', source: { files: [], allowEmpty: true } });
  const jobs = new DynamoDbJobStateRepositoryAdapter(
    documents,
    { table, statusShards: 4, retentionDays: 30 },
    new SystemClock(),
    new SilentLogger(),
  );
  let started = 0;
  for (let taken = 0; taken < count;) {
    const more = Math.min(AT_A_TIME, count - started);
    await Promise.all(Array.from({ length: more }, () => states.send(new StartExecutionCommand({ stateMachineArn, input }))));
    started += more;
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }));
    if (Messages.length === 0) continue;
    const createdAt = new Date().toISOString();
    await Promise.all(
      Messages.map(({ Body = '' }) => {
        const { jobId, taskToken } = JSON.parse(Body) as { jobId: string; taskToken: string };
        return jobs.createIfAbsent(aNewJob({ jobId, taskToken, createdAt }));
      }),
    );
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
    taken += Messages.length;
  }
}
