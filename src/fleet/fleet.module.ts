import { hostname } from 'node:os';
import { Module } from '@nestjs/common';
import { BatchesModule } from '../batches/batches.module.js';
import { BatchWorkService } from '../batches/index.js';
import { CONFIGURATION, packageVersion, type Configuration } from '../config/index.js';
import { Lifecycle } from '../platform/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { ProcessVitalsAdapter } from './adapters/process-vitals.adapter.js';
import { CoordinatorHeartbeatService } from './application/coordinator-heartbeat.service.js';
import { CoordinatorRegistryPort } from './application/coordinator-registry.port.js';
import { CoordinatorVitalsPort } from './application/coordinator-vitals.port.js';
import { FleetMemory } from './application/fleet-memory.js';
import { RegistrationService } from './application/registration.service.js';
import { FleetRecordsModule } from './fleet-records.module.js';

@Module({
  imports: [FleetRecordsModule, BatchesModule],
  providers: [
    {
      provide: CoordinatorVitalsPort,
      inject: [Lifecycle],
      useFactory: (lifecycle: Lifecycle) => new ProcessVitalsAdapter(lifecycle),
    },
    RegistrationService,
    {
      provide: CoordinatorHeartbeatService,
      inject: [
        CONFIGURATION,
        CoordinatorRegistryPort,
        RegistrationService,
        FleetMemory,
        CoordinatorVitalsPort,
        BatchWorkService,
        Clock,
        AppLogger,
        Metrics,
      ],
      useFactory: (
        { coordinatorId, fleet, tables }: Configuration,
        registry: CoordinatorRegistryPort,
        registrations: RegistrationService,
        memory: FleetMemory,
        vitals: CoordinatorVitalsPort,
        work: BatchWorkService,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new CoordinatorHeartbeatService(
          { coordinatorId, ...fleet, table: tables.coordinators, version: packageVersion(), host: hostname() },
          registry,
          registrations,
          memory,
          vitals,
          work,
          { clock, logger, metrics },
        ),
    },
  ],
  exports: [CoordinatorHeartbeatService],
})
export class FleetModule {}
