import { packageVersion, type Configuration } from '../../config/index.js';
import type { ThreadSettings } from '../protocol/thread-messages.schema.js';

export type PoolSettings = Pick<Configuration, 'pool' | 'access' | 'aws'>;

export const STALL_TIMEOUT_MS = 60_000;

/** By which the owner of a source knows who asks. */
export function userAgent(): string {
  return `export-worker/${packageVersion()}`;
}

/** The settings of one thread. */
export function threadSettings({ pool, access, aws }: PoolSettings): ThreadSettings {
  return {
    s3Checksums: aws.s3Checksums,
    destinationBuckets: [...access.destinationBuckets],
    sourceBuckets: [...access.sourceBuckets],
    sourceHosts: [...access.sourceHosts],
    sourceCidrs: [...access.sourceCidrs],
    sourcePorts: [...access.sourcePorts],
    userAgent: userAgent(),
    tasksPerWorker: pool.tasksPerWorker,
    memoryBytes: pool.memoryMb * 1024 * 1024,
    uploadConcurrency: pool.uploadConcurrency,
    // The dispatcher keeps to it over all threads, by the hosts of the URLs: this is for the hosts that redirects lead to.
    connectionsPerHost: pool.maxConnectionsPerHost,
    taskTimeoutMs: pool.taskTimeoutMs,
    stallTimeoutMs: STALL_TIMEOUT_MS,
    minBytesPerSecond: pool.minBytesPerSecond,
  };
}
