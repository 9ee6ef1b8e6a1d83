import { afterAll, beforeAll, describe } from '@jest/globals';
import { DynamoDbJobStateRepositoryAdapter } from '../../src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import type { ConditionalWrite, CountWrite, JobStateRepositoryPort } from '../../src/export-jobs/application/job-state-repository.port.js';
import type { BatchCount, ExportJobEntity } from '../../src/export-jobs/domain/export-job.entity.js';
import { newId } from '../../src/shared/index.js';
import { SilentLogger } from './silent-logger.js';
import { aNewJob, anOutcome, aPlan } from './builders.js';
import { startEmbeddedDynamoDb, type EmbeddedDynamoDb } from './embedded-dynamodb.js';
import { InMemoryJobStateRepository } from './fakes/in-memory-job-state-repository.js';
import { FakeClock } from './fake-clock.js';

const SETTINGS = { statusShards: 4, retentionDays: 30 };

export interface JobRepository {
  jobs: JobStateRepositoryPort;
  /** A job that is not there yet; its id is its own. */
  job: JobInRepository;
  jobId: string;
}

/** One suite on every implementation of the port: the fake, and the adapter on the embedded DynamoDB. */
export function describeJobRepositories(suite: (create: () => JobRepository) => void): void {
  let dynamoDb: EmbeddedDynamoDb;
  beforeAll(async () => {
    dynamoDb = await startEmbeddedDynamoDb();
  });
  afterAll(() => dynamoDb.close());

  describe.each<[string, () => JobStateRepositoryPort]>([
    ['the fake', () => new InMemoryJobStateRepository()],
    ['DynamoDB', () => jobTable(dynamoDb)],
  ])('JobStateRepositoryPort on %s', (_name, createRepository) => {
    suite(() => {
      const jobs = createRepository();
      const jobId = newId();
      return { jobs, jobId, job: new JobInRepository(jobs, jobId) };
    });
  });
}

export function jobTable({ documents, jobsTable }: EmbeddedDynamoDb): JobStateRepositoryPort {
  return new DynamoDbJobStateRepositoryAdapter(documents, { ...SETTINGS, table: jobsTable }, new FakeClock(), new SilentLogger());
}

/** @throws when the write was refused */
export function writtenJob(write: ConditionalWrite): ExportJobEntity {
  if (write.kind === 'refused') throw new Error('refused');
  return write.job;
}

/** Brings one job of a repository into the states that a suite begins with, by the port's own writes. */
export class JobInRepository {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    readonly jobId: string,
  ) {}

  async found(): Promise<ExportJobEntity> {
    const job = await this.jobs.find(this.jobId);
    if (job === undefined) throw new Error('no row');
    return job;
  }

  async created(): Promise<ExportJobEntity> {
    return (await this.jobs.createIfAbsent(aNewJob({ jobId: this.jobId }))).job;
  }

  async createdWithoutToken(): Promise<ExportJobEntity> {
    const { taskToken: _token, ...job } = aNewJob({ jobId: this.jobId });
    return (await this.jobs.createIfAbsent(job)).job;
  }

  async downloading(): Promise<ExportJobEntity> {
    await this.created();
    await this.jobs.recordPlan(this.jobId, 1, aPlan());
    return writtenJob(await this.jobs.startDownloading(this.jobId, 1, 2));
  }

  async finalizing(): Promise<ExportJobEntity> {
    return writtenJob(await this.jobs.beginFinalizing(await this.downloading(), anOutcome()));
  }

  async ended(): Promise<ExportJobEntity> {
    await this.finalizing();
    return writtenJob(await this.jobs.end(this.jobId, 1, anOutcome(), { resultKey: 'key', callback: 'success' }));
  }

  /** Counts so many completed tasks of batch 0, the first of them unless `over` says otherwise. */
  count(completed: number, over: Partial<CountWrite> = {}): Promise<ConditionalWrite> {
    const next: BatchCount = { completed, failed: 0, bytes: completed * 10 };
    return this.jobs.count({ jobId: this.jobId, run: 1, batchNo: 0, old: undefined, next, delta: next, ended: false, ...over });
  }
}
