export { BatchConsumer } from './adapters/batch.consumer.js';
export { EnqueueBatchesUseCase } from './application/enqueue-batches.use-case.js';
