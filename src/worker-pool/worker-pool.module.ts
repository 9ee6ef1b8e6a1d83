import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { AppLogger, Metrics } from '../shared/index.js';
import { PoolManagerService } from './adapters/pool-manager.service.js';
import { SourceReader } from './adapters/source-reader.js';
import { TransferPool } from './application/transfer-pool.port.js';

/** Lifecycle starts and stops PoolManagerService, and closes SourceReader. */
@Module({
  providers: [
    {
      provide: PoolManagerService,
      inject: [CONFIGURATION, AppLogger, { token: Metrics, optional: true }],
      useFactory: (configuration: Configuration, logger: AppLogger, metrics?: Metrics) =>
        new PoolManagerService(configuration, logger, { metrics }),
    },
    { provide: TransferPool, useExisting: PoolManagerService },
    { provide: SourceReader, inject: [CONFIGURATION], useFactory: (configuration: Configuration) => new SourceReader(configuration) },
  ],
  exports: [TransferPool, PoolManagerService, SourceReader],
})
export class WorkerPoolModule {}
