import { DeleteMessageBatchCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { afterAll, describe, expect, it } from '@jest/globals';
import { DynamoDbJobStateRepositoryAdapter } from '../../src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import { SystemClock } from '../../src/shared/index.js';
import { aNewJob } from '../support/builders.js';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { SilentLogger } from '../support/silent-logger.js';
import { ExportFixture } from '../e2e/export-fixture.js';

const JOBS = 1_000;
/**
 * Everything runs twice as fast as by default: faster, a busy machine would not come round. When
 * which beat is due is a question of virtual time:
 * test/unit/export-jobs/application/thousand-tokens.spec.ts.
 */
const ENVIRONMENT = {
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '15000',
  STEP_FUNCTIONS_MAX_BEATS_PER_SECOND: '200',
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '5000',
  LOG_LEVEL: 'info',
  WORKER_POOL_SIZE: '1',
};
/** Step Functions ends whoever goes without a beat for ten turns. */
const HEARTBEAT_S = 150;
const TURNS = 2;
/** Of all turns together, on a busy machine. */
const HANG_MS = 1_200_000;

describe('1,000 active jobs with tokens', () => {
  let fixture: ExportFixture;
  afterAll(() => fixture.close());

  /**
   * Executions whose messages this test takes, and makes jobs of that are being expanded for as
   * long as it wants.
   */
  async function startJobs(): Promise<void> {
    fixture = await ExportFixture.start({ stateMachine: { heartbeatSeconds: HEARTBEAT_S, maxAttempts: 0 } });
    const { states, sqs, documents } = fixture.clients;
    const { stateMachineArn, jobsQueueUrl: QueueUrl, jobsTable } = fixture.aws.resources;
    const input = JSON.stringify({ exportId: 'export-1', userId: 'user-1', source: { files: [], allowEmpty: true } });
    await inGroups(JOBS, () => states.send(new StartExecutionCommand({ stateMachineArn, input })));
    const jobs = new DynamoDbJobStateRepositoryAdapter(
      documents,
      { table: jobsTable, statusShards: 4, retentionDays: 30 },
      new SystemClock(),
      new SilentLogger(),
    );
    for (let taken = 0; taken < JOBS;) {
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }));
      if (Messages.length === 0) continue;
      const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
      const bodies = Messages.map(({ Body = '' }) => JSON.parse(Body) as { jobId: string; taskToken: string });
      const createdAt = new Date().toISOString();
      await Promise.all(bodies.map(({ jobId, taskToken }) => jobs.createIfAbsent(aNewJob({ jobId, taskToken, createdAt }))));
      await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
      taken += Messages.length;
    }
  }

  /** Every token is beaten so often from now on. */
  async function beatenAgain(times: number): Promise<void> {
    const beats = () => fixture.aws.stepFunctions.tokens().map(({ heartbeats }) => heartbeats.length);
    const before = beats();
    await eventually(() => beats().every((count, index) => count >= (before[index] ?? 0) + times), {
      intervalMs: 500,
      timeoutMs: HANG_MS / 4,
    });
  }

  it(
    'are all beaten, again and again, by one, two and three coordinators, and by those who are left when one is killed; none times out',
    async () => {
      await startJobs();
      const services: ExportService[] = [];
      while (services.length < 3) {
        services.push(await fixture.startService(ENVIRONMENT));
        await beatenAgain(TURNS);
      }
      await services[1]?.kill();
      await beatenAgain(TURNS);
      expect(fixture.aws.stepFunctions.tokens().filter(({ closed }) => closed !== undefined)).toEqual([]);
    },
    HANG_MS,
  );
});

async function inGroups(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += 50) await Promise.all(Array.from({ length: Math.min(50, count - done) }, work));
}
