export { ExportJobConsumer } from './adapters/export-job.consumer.js';
export { SUBMISSIONS_PREFIX } from './adapters/spooling-manifest.adapter.js';
export { MANIFEST_FORMATS, type ListReading } from './domain/export-request.js';
export { KEYS_FROM } from './domain/source-url.js';
