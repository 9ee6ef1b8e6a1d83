export { HASH_BYTES } from './key-hashes.js';
export { ManifestError } from './manifest-error.js';
export { readManifest, type OpenManifest, type ReadManifestOptions } from './read-manifest.js';
export type { RepeatedTasks } from './repeated-tasks.js';
