export { TransferPool, type RunTaskOptions } from './application/transfer-pool.port.js';
export {
  CHECKSUM_ALGORITHMS,
  type Checksum,
  type ChecksumAlgorithm,
  type TaskFailure,
  type TaskOutcome,
  type TransferTask,
} from './domain/transfer-task.js';
