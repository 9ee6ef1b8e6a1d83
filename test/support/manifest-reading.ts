import { join } from 'node:path';
import { tmpdir } from 'node:os';
import type { ReadManifestOptions } from '../../src/intake/adapters/manifest/index.js';
import { UnsharedTurn } from './fakes/fake-intake-ports.js';

/** A reading of a manifest too short for a file of its keys' hashes. */
export function aManifestReading(over: Partial<ReadManifestOptions> = {}): ReadManifestOptions {
  return {
    prefix: '',
    signal: new AbortController().signal,
    turn: new UnsharedTurn(),
    onProgress: () => undefined,
    hashesFile: join(tmpdir(), 'no-such-folder', 'hashes'),
    ...over,
  };
}
