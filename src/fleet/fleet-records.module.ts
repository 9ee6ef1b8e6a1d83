import { Module } from '@nestjs/common';
import { OwnHeartbeatPort } from '../batches/index.js';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { LiveCoordinatorsPort } from '../export-jobs/index.js';
import { AwsClients } from '../platform/index.js';
import { AppLogger, Clock } from '../shared/index.js';
import { DynamoDbCoordinatorRegistryAdapter } from './adapters/dynamo-db-coordinator-registry.adapter.js';
import { LiveCoordinatorsAdapter } from './adapters/live-coordinators.adapter.js';
import { CoordinatorRegistryPort } from './application/coordinator-registry.port.js';
import { FleetMemory } from './application/fleet-memory.js';
import { FleetViewQuery } from './application/fleet-view.query.js';

/** What is known of the fleet, apart from finding it out: jobs and batches ask, and without a coordinator heartbeat it is nothing. */
@Module({
  providers: [
    {
      provide: FleetMemory,
      inject: [CONFIGURATION, Clock],
      useFactory: ({ fleet }: Configuration, clock: Clock) => new FleetMemory(fleet.heartbeatIntervalMs, clock),
    },
    {
      provide: CoordinatorRegistryPort,
      inject: [AwsClients, CONFIGURATION, Clock, AppLogger],
      useFactory: ({ dynamoDb }: AwsClients, { tables }: Configuration, clock: Clock, logger: AppLogger) =>
        new DynamoDbCoordinatorRegistryAdapter(dynamoDb, tables.coordinators, clock, logger),
    },
    {
      provide: FleetViewQuery,
      inject: [CONFIGURATION, CoordinatorRegistryPort, Clock],
      useFactory: ({ fleet }: Configuration, registry: CoordinatorRegistryPort, clock: Clock) => new FleetViewQuery(fleet, registry, clock),
    },
    { provide: OwnHeartbeatPort, useExisting: FleetMemory },
    {
      provide: LiveCoordinatorsPort,
      inject: [CONFIGURATION, FleetMemory],
      useFactory: ({ coordinatorId }: Configuration, memory: FleetMemory) => new LiveCoordinatorsAdapter(coordinatorId, memory),
    },
  ],
  exports: [CoordinatorRegistryPort, FleetMemory, FleetViewQuery, OwnHeartbeatPort, LiveCoordinatorsPort],
})
export class FleetRecordsModule {}
