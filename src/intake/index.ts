export { ExportJobConsumer } from './adapters/export-job.consumer.js';
export { SUBMISSIONS_PREFIX } from './adapters/spooling-manifest.adapter.js';
