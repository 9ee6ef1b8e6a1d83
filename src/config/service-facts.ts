import type { Configuration } from './configuration.js';
import { packageVersion } from './package-version.js';

/** What a person wants to know of a service that has started: which version it is, and on what it works. Holds no secret. */
export function serviceFacts({ aws, queues, tables, exports, pool, stepFunctions }: Configuration): Record<string, unknown> {
  const { jobs, batches, reclaims, coordinators } = tables;
  return {
    version: packageVersion(),
    node: process.version,
    region: aws.region,
    queues: { jobs: queues.jobsUrl, batches: queues.batchesUrl, deadLetters: queues.deadLetterUrl },
    tables: { jobs, batches, reclaims, coordinators },
    bucket: exports.bucket,
    pool: {
      threads: pool.size,
      tasksPerWorker: pool.tasksPerWorker,
      memoryMb: pool.memoryMb,
      connectionsPerHost: pool.maxConnectionsPerHost,
    },
    heartbeatIntervalMs: stepFunctions.heartbeatIntervalMs,
  };
}
