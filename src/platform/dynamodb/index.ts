export { conditionalPut, conditionalUpdate, type ConditionalUpdate } from './conditional-write.js';
