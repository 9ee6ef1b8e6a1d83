export { ManifestError } from './manifest-error.js';
export { MANIFEST_FORMATS, type ManifestFormat } from './manifest-format.js';
export { readManifest, type OpenManifest, type ReadManifestOptions } from './read-manifest.js';
