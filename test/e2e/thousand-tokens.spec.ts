import { DeleteMessageBatchCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { DynamoDbJobStateRepositoryAdapter } from '../../src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import { SystemClock } from '../../src/shared/index.js';
import { aNewJob } from '../support/builders.js';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { SilentLogger } from '../support/silent-logger.js';
import { ExportFixture } from './export-fixture.js';

jest.setTimeout(300_000);

const JOBS = 1_000;
/** Everything runs so many times as fast as by default: 30 s between two beats of a token, 10 s between those of a coordinator. */
const SCALE = 5;
const INTERVAL_MS = 30_000 / SCALE;
const COORDINATOR_INTERVAL_MS = 10_000 / SCALE;
/** The longest that a token may go without a beat when its coordinator dies. */
const UNBEATEN_LIMIT_MS = 100_000 / SCALE;
const BEATS_PER_SECOND = 300;
const ENVIRONMENT = {
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: String(INTERVAL_MS),
  STEP_FUNCTIONS_MAX_BEATS_PER_SECOND: String(BEATS_PER_SECOND),
  COORDINATOR_HEARTBEAT_INTERVAL_MS: String(COORDINATOR_INTERVAL_MS),
  LOG_LEVEL: 'info',
  WORKER_POOL_SIZE: '1',
};

describe('1,000 active jobs with tokens', () => {
  let fixture: ExportFixture;
  afterAll(() => fixture.close());

  /** Executions whose messages this test takes, and makes jobs of that are being expanded for as long as it wants. */
  async function startJobs(): Promise<void> {
    fixture = await ExportFixture.start({ stateMachine: { heartbeatSeconds: 600 } });
    const { states, sqs, documents } = fixture.clients;
    const { stateMachineArn, jobsQueueUrl: QueueUrl, jobsTable } = fixture.aws.resources;
    const input = JSON.stringify({ exportId: 'export-1', userId: 'user-1', source: { files: [] } });
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

  const allBeats = () => fixture.aws.stepFunctions.tokens().map(({ heartbeats }) => heartbeats);
  const settledFor = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  /** Once all coordinators know each other: in a time of one interval each token is beaten once, whoever beats it. */
  async function expectEachOnceATurn(): Promise<void> {
    await eventually(() => allBeats().every((beats) => beats.length > 0), { timeoutMs: 60_000 });
    await settledFor(INTERVAL_MS + 4 * COORDINATOR_INTERVAL_MS);
    const from = Date.now();
    await settledFor(2.5 * INTERVAL_MS);
    const gaps = allBeats().flatMap((beats) => {
      const steady = beats.filter((at) => at >= from);
      return steady.slice(1).map((at, index) => at - (steady[index] ?? 0));
    });
    expect(gaps.length).toBeGreaterThanOrEqual(JOBS);
    expect(Math.min(...gaps)).toBeGreaterThan(INTERVAL_MS / 2);
    expect(Math.max(...gaps)).toBeLessThan(INTERVAL_MS * 1.5);
  }

  function expectRateWithinBucket(coordinators: number): void {
    const times = allBeats()
      .flat()
      .sort((a, b) => a - b);
    const mostInASecond = times.reduce((most, at, index) => {
      let last = index;
      while (last + 1 < times.length && (times[last + 1] ?? Infinity) < at + 1_000) last++;
      return Math.max(most, last - index + 1);
    }, 0);
    // What was sent evenly may arrive in a clump.
    expect(mostInASecond).toBeLessThanOrEqual(coordinators * BEATS_PER_SECOND * 1.25);
  }

  it('are beaten once a turn, each at its slot, by one, two and three coordinators; when one is killed none goes unbeaten for 100 s', async () => {
    await startJobs();
    const services: ExportService[] = [];
    while (services.length < 3) {
      services.push(await fixture.startService(ENVIRONMENT));
      await expectEachOnceATurn();
      expectRateWithinBucket(services.length);
    }
    const killedAt = Date.now();
    await services[1]?.kill();
    await settledFor(UNBEATEN_LIMIT_MS + INTERVAL_MS);
    const until = Date.now();
    const longest = allBeats().map((beats) => {
      const times = [...beats.filter((at) => at > killedAt - INTERVAL_MS * 1.5), until];
      return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
    });
    expect(Math.max(...longest)).toBeLessThan(UNBEATEN_LIMIT_MS);
  });
});

async function inGroups(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += 50) await Promise.all(Array.from({ length: Math.min(50, count - done) }, work));
}
