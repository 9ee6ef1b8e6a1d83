export { PoolManagerService, type PoolOptions } from './adapters/pool-manager.service.js';
export { SourceReader, type OpenSourceOptions, type SourceStream } from './adapters/source-reader.js';
export { UploadRuleCheck } from './adapters/upload-rule-check.js';
export { watchedBody } from './adapters/watched-body.js';
export { TransferPool, type RunTaskOptions } from './application/transfer-pool.port.js';
export { MAX_RETRY_AFTER_MS } from './domain/http-response.js';
export { IN_HAND_PER_PLACE } from './domain/places.js';
export { TransferError } from './domain/transfer-error.js';
export { asksForPatience, type TaskFailure, type TaskOutcome, type TransferTask } from './domain/transfer-task.js';
