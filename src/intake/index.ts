export { ExportJobConsumer } from './adapters/export-job.consumer.js';
export { parseExportJobMessage } from './adapters/export-job-message.schema.js';
export { countFiles } from './adapters/manifest/count-files.js';
export { ManifestError } from './adapters/manifest/manifest-error.js';
export { SUBMISSIONS_PREFIX } from './adapters/spooling-manifest.adapter.js';
export { MANIFEST_FORMATS, type ListReading } from './domain/export-request.js';
export { KEYS_FROM } from './domain/source-url.js';
export { defaultPrefix } from './domain/object-key.js';
