export { BatchConsumer } from './adapters/batch.consumer.js';
export { ReclaimLoop } from './adapters/reclaim.loop.js';
export { BatchWorkService, type BatchWork } from './application/batch-work.service.js';
export { EnqueueBatchesUseCase } from './application/enqueue-batches.use-case.js';
export { OwnHeartbeatPort } from './application/own-heartbeat.port.js';
export { type WorkSign } from './application/work-signs.js';
