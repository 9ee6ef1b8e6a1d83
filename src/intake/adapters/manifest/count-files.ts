import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExpansionTurn } from '../../application/expansion-turns.js';
import { readManifest, type OpenManifest } from './read-manifest.js';

/** Of a reading that is alone in its process: nobody waits for its place. */
class OnlyTurn extends ExpansionTurn {
  override whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    return wait();
  }

  override whileInLine<T>(wait: () => Promise<T>): Promise<T> {
    return wait();
  }
}

/**
 * Reads a list as the service will, and keeps nothing of it.
 * @param prefix the destination's, which keys are checked with
 * @returns how many files it names
 * @throws ManifestError with its problems; what `open` and its stream throw
 */
export async function countFiles(open: OpenManifest, prefix: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'export-worker-check-'));
  try {
    let files = 0;
    const { signal } = new AbortController();
    const hashesFile = join(folder, 'key-hashes');
    for await (const tasks of readManifest(open, { prefix, signal, turn: new OnlyTurn(), onProgress: () => undefined, hashesFile }))
      files += tasks.length;
    return files;
  } finally {
    await rm(folder, { recursive: true });
  }
}
