export { PoolManagerService, type PoolOptions } from './adapters/pool-manager.service.js';
export { SourceReader, type OpenSourceOptions, type SourceStream } from './adapters/source-reader.js';
export { TransferPool, type RunTaskOptions } from './application/transfer-pool.port.js';
export { parseChecksum, type ParsedChecksum } from './domain/checksum.js';
export { parseS3Uri, type S3Location } from './domain/s3-uri.js';
export {
  CHECKSUM_ALGORITHMS,
  type Checksum,
  type ChecksumAlgorithm,
  type TaskFailure,
  type TaskOutcome,
  type TransferTask,
} from './domain/transfer-task.js';
