import { Module, type DynamicModule } from '@nestjs/common';
import { BatchReclaimModule } from '../batches/batch-reclaim.module.js';
import { CONFIGURATION, type Configuration } from '../config/index.js';
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
@Module({})
class CliPlatformModule {
  static configured(configuration: Configuration): DynamicModule {
    return {
      module: CliPlatformModule,
      global: true,
      providers: [
        { provide: CONFIGURATION, useValue: configuration },
        { provide: Clock, useClass: SystemClock },
        { provide: AppLogger, useFactory: () => new StderrLogger() },
        { provide: Metrics, useClass: NoMetrics },
        { provide: AwsClients, useFactory: () => new AwsClients(configuration.aws) },
      ],
      exports: [CONFIGURATION, Clock, AppLogger, Metrics, AwsClients],
    };
  }
}

@Module({})
export class CliModule {
  static configured(configuration: Configuration): DynamicModule {
    return { module: CliModule, imports: [CliPlatformModule.configured(configuration), ExportJobsModule, BatchReclaimModule] };
  }
}
