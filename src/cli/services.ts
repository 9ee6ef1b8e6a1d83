import { NestFactory } from '@nestjs/core';
import {
  PreviewReclaimQuery,
  ReclaimHistoryPort,
  ReclaimStaleBatchesUseCase,
  StaleMonitorQuery,
  ValidateLeasesQuery,
} from '../batches/index.js';
import { loadConfiguration, type Configuration, type NeededSetting } from '../config/index.js';
import {
  CancelJobUseCase,
  CompleteJobUseCase,
  JobBatchesPort,
  JobResultsPort,
  JobStateRepositoryPort,
  ReopenJobUseCase,
  StuckFinishesQuery,
} from '../export-jobs/index.js';
import { FleetViewQuery } from '../fleet/index.js';
import { AwsClients } from '../platform/index.js';
import { SqsQueue } from '../platform/sqs/index.js';
import { Clock } from '../shared/index.js';
import { CliModule } from './cli.module.js';

/** The parts of the service that commands use. */
export interface Services {
  jobs: Pick<JobStateRepositoryPort, 'find' | 'list' | 'scan'>;
  batches: Pick<JobBatchesPort, 'list'>;
  cancelJob: Pick<CancelJobUseCase, 'cancel'>;
  completeJob: Pick<CompleteJobUseCase, 'idle' | 'stop'>;
  reopenJob: Pick<ReopenJobUseCase, 'reopen'>;
  results: Pick<JobResultsPort, 'loadRequest'>;
  jobsQueue: Pick<SqsQueue, 'send'>;
  reclaim: Pick<ReclaimStaleBatchesUseCase, 'runOnce' | 'idle'>;
  previewReclaim: Pick<PreviewReclaimQuery, 'list'>;
  reclaims: Pick<ReclaimHistoryPort, 'ofJob' | 'recent'>;
  staleMonitor: Pick<StaleMonitorQuery, 'list'>;
  validateLeases: Pick<ValidateLeasesQuery, 'list'>;
  stuckFinishes: Pick<StuckFinishesQuery, 'list'>;
  fleet: Pick<FleetViewQuery, 'look' | 'watch'>;
  clients: Pick<AwsClients, 's3' | 'stepFunctions'>;
  settings: Configuration['exports'];
  /** Where the service may store, if this environment says so: one without the setting is not always the service's own. */
  destinationBuckets?: readonly string[] | undefined;
  reclaimIntervalMs: number;
  batchHeartbeatIntervalMs: number;
  close(): Promise<void>;
}

/**
 * @param needed the settings that must be there
 * @throws ConfigurationError: commands are configured by the service's own environment
 */
export async function openServices(needed: readonly NeededSetting[]): Promise<Services> {
  const configuration = loadConfiguration(process.env, needed);
  const app = await NestFactory.createApplicationContext(CliModule.configured(configuration), { logger: false, abortOnError: false });
  const clients = app.get(AwsClients);
  const { exports: settings, queues, reclaim, batches, access } = configuration;
  return {
    jobs: app.get<JobStateRepositoryPort>(JobStateRepositoryPort),
    batches: app.get<JobBatchesPort>(JobBatchesPort),
    cancelJob: app.get(CancelJobUseCase),
    completeJob: app.get(CompleteJobUseCase),
    reopenJob: app.get(ReopenJobUseCase),
    results: app.get<JobResultsPort>(JobResultsPort),
    jobsQueue: new SqsQueue(clients.sqs, queues.jobsUrl, app.get<Clock>(Clock)),
    reclaim: app.get(ReclaimStaleBatchesUseCase),
    previewReclaim: app.get(PreviewReclaimQuery),
    reclaims: app.get<ReclaimHistoryPort>(ReclaimHistoryPort),
    staleMonitor: app.get(StaleMonitorQuery),
    validateLeases: app.get(ValidateLeasesQuery),
    stuckFinishes: app.get(StuckFinishesQuery),
    fleet: app.get(FleetViewQuery),
    clients,
    settings,
    destinationBuckets: process.env['ALLOWED_DESTINATION_BUCKETS'] ? access.destinationBuckets : undefined,
    reclaimIntervalMs: reclaim.intervalMs,
    batchHeartbeatIntervalMs: batches.heartbeatIntervalMs,
    close: async () => {
      clients.destroy();
      await app.close();
    },
  };
}
