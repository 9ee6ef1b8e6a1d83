export { batchGet } from './batch-get.js';
export { conditionalPut, conditionalUpdate, type ConditionalUpdate } from './conditional-write.js';
export { toDynamoDbError } from './dynamo-db-errors.js';
