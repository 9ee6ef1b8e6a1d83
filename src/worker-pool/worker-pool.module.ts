import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { AwsClients } from '../platform/index.js';
import { AppLogger, Metrics } from '../shared/index.js';
import { PoolManagerService } from './adapters/pool-manager.service.js';
import { SourceReader } from './adapters/source-reader.js';
import { UploadRuleCheck } from './adapters/upload-rule-check.js';
import { TransferPool } from './application/transfer-pool.port.js';

/** Lifecycle starts and stops PoolManagerService and UploadRuleCheck, and closes SourceReader. */
@Module({
  providers: [
    {
      provide: PoolManagerService,
      inject: [CONFIGURATION, AwsClients, AppLogger, { token: Metrics, optional: true }],
      useFactory: (configuration: Configuration, { credentials }: AwsClients, logger: AppLogger, metrics?: Metrics) =>
        new PoolManagerService(configuration, logger, { metrics, credentials }),
    },
    { provide: TransferPool, useExisting: PoolManagerService },
    {
      provide: SourceReader,
      inject: [CONFIGURATION, AwsClients],
      useFactory: (configuration: Configuration, { credentials }: AwsClients) =>
        new SourceReader(configuration, configuration.exports.maxOpenLists, credentials),
    },
    {
      provide: UploadRuleCheck,
      inject: [CONFIGURATION, AwsClients, AppLogger],
      useFactory: ({ exports, access }: Configuration, clients: AwsClients, logger: AppLogger) =>
        new UploadRuleCheck(clients.s3, new Set([exports.bucket, ...access.destinationBuckets]), logger),
    },
  ],
  exports: [TransferPool, PoolManagerService, SourceReader, UploadRuleCheck],
})
export class WorkerPoolModule {}
