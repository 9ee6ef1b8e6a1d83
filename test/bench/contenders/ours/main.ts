import { keepHeapsSmall } from '../../../../src/platform/small-heaps.js';
import { IN_HAND_PER_PLACE, PoolManagerService, type TransferTask } from '../../../../src/worker-pool/index.js';
import { SilentLogger } from '../../../support/silent-logger.js';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import type { Limits } from '../contender.js';
import { BUCKET } from '../node-contender.js';
import { readOrders, sayDone, sayReadyAndWait } from '../node-side.js';
import { Places } from './places.js';
import { ReadyThreads } from './ready-threads.js';

// As the service does.
keepHeapsSmall();
const { files, limits } = await readOrders();
const metrics = new ReadyThreads(limits.threads);
const pool = new PoolManagerService(poolSettings(limits), new SilentLogger(), { metrics });
await pool.start();
await metrics.allReady;
await sayReadyAndWait();
sayDone({ failures: await bringAll() });
await pool.stop();
process.stdin.destroy();

/** As many at a time as there is room for: what the dispatcher of the service does. */
async function bringAll(): Promise<string[]> {
  const failures: string[] = [];
  const queue = files.entries();
  const places = new Places(pool.capacity);
  const { signal } = new AbortController();
  const bring = async (): Promise<void> => {
    for (;;) {
      const leave = await places.take();
      const next = queue.next();
      if (next.done === true) return leave();
      const [index, file] = next.value;
      const outcome = await pool.run(taskOf(file, index), { signal, onRead: leave });
      leave();
      if (!outcome.success) failures.push(`${file.key}: ${outcome.error.code} ${outcome.error.message}`);
    }
  };
  await Promise.all(Array.from({ length: pool.capacity * IN_HAND_PER_PLACE }, bring));
  return failures;
}

function taskOf({ url, key, sizeBytes, sha256 }: PlannedFile, index: number): TransferTask {
  const checksum = { algorithm: 'sha256', value: sha256 } as const;
  return { taskId: `bench#0#${index}`, jobId: 'bench', url, s3Bucket: BUCKET, s3Key: key, size: sizeBytes, checksum, attempt: 1 };
}

/** As against S3 itself, with its CRC32 of the full object; only the address is another. */
function poolSettings({ threads, filesPerThread, partsPerFile }: Limits): ConstructorParameters<typeof PoolManagerService>[0] {
  return {
    pool: {
      size: threads,
      tasksPerWorker: filesPerThread,
      memoryMb: 64,
      uploadConcurrency: partsPerFile,
      maxConnectionsPerHost: threads * filesPerThread,
      taskTimeoutMs: 3_600_000,
      minBytesPerSecond: 100,
    },
    access: { destinationBuckets: [BUCKET], sourceBuckets: [], sourceHosts: [], sourceCidrs: ['127.0.0.0/8'], sourcePorts: [] },
    aws: { region: 'us-east-1', s3CustomEndpoint: true, s3Checksums: 'full-object' },
  };
}
