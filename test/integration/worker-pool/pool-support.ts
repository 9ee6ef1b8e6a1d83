import { afterEach, beforeEach, expect } from '@jest/globals';
import { createCipheriv } from 'node:crypto';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, S3Client, type HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { RequestLog } from '../../../infra/local-aws/request-log.js';
import { startS3Endpoint, type S3Endpoint } from '../../../infra/local-aws/s3/index.js';
import { SilentLogger } from '../../support/silent-logger.js';
import { PoolManagerService, type PoolOptions, type TaskOutcome, type TransferTask } from '../../../src/worker-pool/index.js';
import type { PoolSettings } from '../../../src/worker-pool/adapters/pool-settings.js';
import { RawOrigin } from '../../support/raw-origin.js';

export const BUCKET = 'exports';
export const SOURCE_BUCKET = 'sources';
export const MIB = 1024 * 1024;

export interface SettingsOverrides {
  pool?: Partial<PoolSettings['pool']>;
  access?: Partial<PoolSettings['access']>;
  aws?: Partial<PoolSettings['aws']>;
}

export function poolSettings({ pool, access, aws }: SettingsOverrides = {}): PoolSettings {
  return {
    pool: {
      size: 0,
      tasksPerWorker: 8,
      memoryMb: 64,
      uploadConcurrency: 4,
      maxConnectionsPerHost: 32,
      taskTimeoutMs: 60_000,
      minBytesPerSecond: 100,
      ...pool,
    },
    access: {
      destinationBuckets: [BUCKET],
      sourceBuckets: [SOURCE_BUCKET],
      sourceHosts: ['127.0.0.1'],
      sourceCidrs: [],
      sourcePorts: [],
      ...access,
    },
    aws: { region: 'us-east-1', s3CustomEndpoint: true, s3Checksums: 'full-object', ...aws },
  };
}

/** Origin, S3 and pools of one test; `close` ends them all. */
export class TransferBench {
  readonly s3: S3Client;
  private readonly pools: PoolManagerService[] = [];
  private taskCount = 0;

  private constructor(
    readonly origin: RawOrigin,
    readonly endpoint: S3Endpoint,
    readonly log: RequestLog,
  ) {
    Object.assign(process.env, { AWS_ENDPOINT_URL_S3: endpoint.url, AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
    this.s3 = new S3Client({ region: 'us-east-1', forcePathStyle: true });
  }

  static async start(): Promise<TransferBench> {
    const log = new RequestLog();
    return new TransferBench(await RawOrigin.start(), await startS3Endpoint({ buckets: [BUCKET, SOURCE_BUCKET], log }), log);
  }

  async pool(overrides: SettingsOverrides = {}, options: PoolOptions = {}): Promise<PoolManagerService> {
    const pool = new PoolManagerService(poolSettings(overrides), new SilentLogger(), options);
    this.pools.push(pool);
    await pool.start();
    return pool;
  }

  task(url: string, rest: Partial<TransferTask> = {}): TransferTask {
    const taskId = `job#0#${this.taskCount++}`;
    return { taskId, jobId: 'job', url, s3Bucket: BUCKET, s3Key: taskId.replaceAll('#', '/'), attempt: 1, ...rest };
  }

  async object(task: TransferTask): Promise<Buffer> {
    const { Body } = await this.s3.send(new GetObjectCommand({ Bucket: task.s3Bucket, Key: task.s3Key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  }

  head(task: TransferTask): Promise<HeadObjectCommandOutput> {
    return this.s3.send(new HeadObjectCommand({ Bucket: task.s3Bucket, Key: task.s3Key }));
  }

  async keys(): Promise<string[]> {
    const { Contents } = await this.s3.send(new ListObjectsV2Command({ Bucket: BUCKET }));
    return (Contents ?? []).map(({ Key }) => Key ?? '');
  }

  /** What S3 was asked, in order. */
  operations(): string[] {
    return this.log.of('s3').map(({ operation }) => operation);
  }

  async close(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.stop()));
    this.s3.destroy();
    await this.origin.close();
    await this.endpoint.close();
  }
}

/** A bench with one inline pool for each test, of which none may leave an upload behind. */
export function benchForEach(begin: (fresh: { bench: TransferBench; pool: PoolManagerService }) => unknown): void {
  let bench: TransferBench;
  beforeEach(async () => {
    bench = await TransferBench.start();
    begin({ bench, pool: await bench.pool() });
  });
  afterEach(async () => {
    const left = bench.endpoint.openUploads(BUCKET);
    await bench.close();
    expect(left).toEqual([]);
  });
}

export function run(pool: PoolManagerService, task: TransferTask, signal = new AbortController().signal): Promise<TaskOutcome> {
  return pool.run(task, { signal });
}

/** Waits until the condition holds; the test's own timeout ends it. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Bytes that differ everywhere, so that a part in the wrong place shows; of a cipher, as that makes 1 GB of them a second. */
export function pattern(bytes: number): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}
