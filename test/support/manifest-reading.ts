import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { readManifest, type OpenManifest, type ReadManifestOptions, type RepeatedTasks } from '../../src/intake/adapters/manifest/index.js';
import type { ManifestTask } from '../../src/intake/domain/manifest-task.js';
import { UnsharedTurn } from './fakes/fake-intake-ports.js';

/** A reading of a manifest too short for a file of its keys' hashes. */
export function aManifestReading(over: Partial<ReadManifestOptions> = {}): ReadManifestOptions {
  return {
    prefix: '',
    signal: new AbortController().signal,
    turn: new UnsharedTurn(),
    onProgress: () => undefined,
    hashesFile: join(tmpdir(), 'no-such-folder', 'hashes'),
    onRepeats: () => undefined,
    ...over,
  };
}

/** The tasks of a short list, those left out that it has twice. */
export async function readWholeList(open: OpenManifest, over: Partial<ReadManifestOptions> = {}): Promise<ManifestTask[]> {
  const tasks: ManifestTask[] = [];
  let repeated: RepeatedTasks | undefined;
  const reading = aManifestReading({ onRepeats: (found) => (repeated = found), ...over });
  for await (const some of readManifest(open, reading)) tasks.push(...some);
  return tasks.filter((_task, ordinal) => repeated?.has(ordinal) !== true);
}
