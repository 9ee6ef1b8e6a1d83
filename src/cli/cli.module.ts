import { Global, Module } from '@nestjs/common';
import { BatchReclaimModule } from '../batches/batch-reclaim.module.js';
import { CONFIGURATION, loadConfiguration, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import { AwsClients } from '../platform/index.js';
import { AppLogger, Clock, Metrics, SystemClock } from '../shared/index.js';
import { StderrLogger } from './stderr-logger.js';

class NoMetrics extends Metrics {
  override readonly isCollected = false;

  increment(): void {}
  gauge(): void {}
  observe(): void {}
}

/** In place of PlatformModule: no HTTP, no metrics, no lifecycle, and nothing that writes to standard output. */
@Global()
@Module({
  providers: [
    { provide: CONFIGURATION, useFactory: () => loadConfiguration() },
    { provide: Clock, useClass: SystemClock },
    { provide: AppLogger, useFactory: () => new StderrLogger() },
    { provide: Metrics, useClass: NoMetrics },
    { provide: AwsClients, inject: [CONFIGURATION], useFactory: ({ aws }: Configuration) => new AwsClients(aws) },
  ],
  exports: [CONFIGURATION, Clock, AppLogger, Metrics, AwsClients],
})
class CliPlatformModule {}

@Module({ imports: [CliPlatformModule, ExportJobsModule, BatchReclaimModule] })
export class CliModule {}
