import { NestFactory } from '@nestjs/core';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { CancelJobUseCase, CompleteJobUseCase, JobBatchesPort, JobStateRepositoryPort } from '../export-jobs/index.js';
import { AwsClients } from '../platform/index.js';
import { CliModule } from './cli.module.js';

/** The parts of the service that commands use. */
export interface Services {
  jobs: Pick<JobStateRepositoryPort, 'find' | 'list'>;
  batches: Pick<JobBatchesPort, 'list'>;
  cancelJob: Pick<CancelJobUseCase, 'cancel'>;
  completeJob: Pick<CompleteJobUseCase, 'stop'>;
  clients: Pick<AwsClients, 's3' | 'stepFunctions'>;
  settings: Configuration['exports'];
  close(): Promise<void>;
}

/** @throws ConfigurationError: commands are configured by the service's own environment */
export async function openServices(): Promise<Services> {
  const app = await NestFactory.createApplicationContext(CliModule, { logger: false, abortOnError: false });
  const clients = app.get(AwsClients);
  return {
    jobs: app.get<JobStateRepositoryPort>(JobStateRepositoryPort),
    batches: app.get<JobBatchesPort>(JobBatchesPort),
    cancelJob: app.get(CancelJobUseCase),
    completeJob: app.get(CompleteJobUseCase),
    clients,
    settings: app.get<Configuration>(CONFIGURATION).exports,
    close: async () => {
      clients.destroy();
      await app.close();
    },
  };
}
