import { Global, Module } from '@nestjs/common';
import { CONFIGURATION, loadConfiguration, type Configuration } from '../config/index.js';
import { AppLogger, Clock, Metrics, SystemClock } from '../shared/index.js';
import { AwsClients, SharedCredentials } from './aws/index.js';
import { dependenciesOf, DependencyChecks, HealthController, HealthService, StartCheck } from './health/index.js';
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
      inject: [CONFIGURATION, Clock],
      useFactory: (configuration: Configuration, clock: Clock) =>
        PinoLoggerService.create({ level: configuration.logLevel, coordinatorId: configuration.coordinatorId }, clock),
    },
    { provide: PromMetricsService, useFactory: () => new PromMetricsService() },
    { provide: Metrics, useExisting: PromMetricsService },
    {
      provide: AwsClients,
      inject: [CONFIGURATION, Clock, AppLogger],
      useFactory: ({ aws, exports }: Configuration, clock: Clock, logger: AppLogger) =>
        new AwsClients(aws, { openLists: exports.maxOpenLists, credentials: SharedCredentials.ofChain(aws.region, clock, logger) }),
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
      provide: DependencyChecks,
      inject: [CONFIGURATION, AwsClients, Clock],
      useFactory: (configuration: Configuration, clients: AwsClients, clock: Clock) =>
        new DependencyChecks(dependenciesOf(clients, configuration), clients.credentials, clock),
    },
    {
      provide: HealthService,
      inject: [DependencyChecks, Clock, AppLogger],
      useFactory: (checks: DependencyChecks, clock: Clock, logger: AppLogger) => new HealthService(checks, clock, logger),
    },
    {
      provide: StartCheck,
      inject: [DependencyChecks, AwsClients, Clock, AppLogger],
      useFactory: (checks: DependencyChecks, { credentials }: AwsClients, clock: Clock, logger: AppLogger) =>
        new StartCheck(checks, credentials, clock, logger),
    },
  ],
  exports: [CONFIGURATION, Clock, AppLogger, Metrics, AwsClients, Lifecycle, HealthService, StartCheck],
})
export class PlatformModule {}
