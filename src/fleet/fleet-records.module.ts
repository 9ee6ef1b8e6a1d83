import { Module } from '@nestjs/common';
import { OwnHeartbeatPort } from '../batches/index.js';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { LiveCoordinatorsPort } from '../export-jobs/index.js';
import { Clock } from '../shared/index.js';
import { LiveCoordinatorsAdapter } from './adapters/live-coordinators.adapter.js';
import { FleetMemory } from './application/fleet-memory.js';

/** What is known of the fleet, apart from finding it out: jobs and batches ask, and without a coordinator heartbeat it is nothing. */
@Module({
  providers: [
    {
      provide: FleetMemory,
      inject: [CONFIGURATION, Clock],
      useFactory: ({ fleet }: Configuration, clock: Clock) => new FleetMemory(fleet.heartbeatIntervalMs, clock),
    },
    { provide: OwnHeartbeatPort, useExisting: FleetMemory },
    {
      provide: LiveCoordinatorsPort,
      inject: [CONFIGURATION, FleetMemory],
      useFactory: ({ coordinatorId }: Configuration, memory: FleetMemory) => new LiveCoordinatorsAdapter(coordinatorId, memory),
    },
  ],
  exports: [FleetMemory, OwnHeartbeatPort, LiveCoordinatorsPort],
})
export class FleetRecordsModule {}
