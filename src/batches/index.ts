export { BatchConsumer } from './adapters/batch.consumer.js';
export { ReclaimLoop } from './adapters/reclaim.loop.js';
export { EnqueueBatchesUseCase } from './application/enqueue-batches.use-case.js';
