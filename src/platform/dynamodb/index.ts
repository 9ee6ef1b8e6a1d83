export { batchGet } from './batch-get.js';
export { conditionalPut, conditionalUpdate, type ConditionalUpdate } from './conditional-write.js';
