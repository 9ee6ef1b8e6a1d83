import type { Configuration } from '../../config/index.js';
import type { ThreadSettings } from '../protocol/thread-messages.schema.js';

export type PoolSettings = Pick<Configuration, 'pool' | 'access' | 'aws'>;

export const STALL_TIMEOUT_MS = 60_000;

/** The settings of one thread; what the process has once is divided among the threads. */
export function threadSettings({ pool, access, aws }: PoolSettings): ThreadSettings {
  return {
    s3Checksums: aws.s3Checksums,
    destinationBuckets: [...access.destinationBuckets],
    sourceBuckets: [...access.sourceBuckets],
    sourceHosts: [...access.sourceHosts],
    sourceCidrs: [...access.sourceCidrs],
    sourcePorts: [...access.sourcePorts],
    tasksPerWorker: pool.tasksPerWorker,
    memoryBytes: pool.memoryMb * 1024 * 1024,
    uploadConcurrency: pool.uploadConcurrency,
    connectionsPerHost: Math.max(1, Math.floor(pool.maxConnectionsPerHost / Math.max(1, pool.size))),
    taskTimeoutMs: pool.taskTimeoutMs,
    stallTimeoutMs: STALL_TIMEOUT_MS,
  };
}
