export { readLines, readText, writeLines, writeText, type S3Location } from './text-objects.js';
export { toStoreError } from './store-errors.js';
