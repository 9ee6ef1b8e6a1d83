import { Global, Module } from '@nestjs/common';
import { CONFIGURATION, loadConfiguration, type Configuration } from '../config/index.js';
import { AppLogger, Clock, Metrics, SystemClock } from '../shared/index.js';
import { AwsClients } from './aws/aws-clients.js';
import { HealthController } from './health.controller.js';
import { HealthService } from './health.service.js';
import { Lifecycle } from './lifecycle.js';
import { PinoLoggerService } from './pino-logger.service.js';
import { PromMetricsService } from './prom-metrics.service.js';

/** What every feature stands on. Everything here is made once per process. */
@Global()
@Module({
  controllers: [HealthController],
  providers: [
    { provide: CONFIGURATION, useFactory: () => loadConfiguration() },
    { provide: Clock, useClass: SystemClock },
    {
      provide: AppLogger,
      inject: [CONFIGURATION],
      useFactory: (configuration: Configuration) =>
        PinoLoggerService.create({ level: configuration.logLevel, coordinatorId: configuration.coordinatorId }),
    },
    { provide: PromMetricsService, useFactory: () => new PromMetricsService() },
    { provide: Metrics, useExisting: PromMetricsService },
    {
      provide: AwsClients,
      inject: [CONFIGURATION],
      useFactory: ({ aws, exports }: Configuration) => new AwsClients(aws, exports.maxOpenLists),
    },
    {
      provide: Lifecycle,
      inject: [CONFIGURATION, Clock, AppLogger, AwsClients],
      useFactory: (configuration: Configuration, clock: Clock, logger: AppLogger, clients: AwsClients) => {
        const lifecycle = new Lifecycle(configuration, clock, logger);
        lifecycle.onClose(() => clients.destroy());
        return lifecycle;
      },
    },
    {
      provide: HealthService,
      inject: [CONFIGURATION, AwsClients, Clock],
      useFactory: (configuration: Configuration, clients: AwsClients, clock: Clock) =>
        new HealthService(
          clients,
          { table: configuration.tables.jobs, queueUrl: configuration.queues.jobsUrl, bucket: configuration.exports.bucket },
          clock,
        ),
    },
  ],
  exports: [CONFIGURATION, Clock, AppLogger, Metrics, AwsClients, Lifecycle, HealthService],
})
export class PlatformModule {}
