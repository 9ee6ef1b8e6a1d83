export { readLines, writeLines, writeText, type S3Location } from './text-objects.js';
