import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExpansionTurn } from '../../application/expansion-turns.js';
import type { ListReading } from '../../domain/export-request.js';
import { readManifest, type OpenManifest } from './read-manifest.js';
import type { RepeatedTasks } from './repeated-tasks.js';

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
 * @returns how many files it names, and how many more are there again, word for word
 * @throws ManifestError with its problems; what `open` and its stream throw
 */
export async function countFiles(
  open: OpenManifest,
  prefix: string,
  reading: ListReading,
): Promise<{ files: number; repeatedTasks: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'export-worker-check-'));
  try {
    let tasksRead = 0;
    let repeatedTasks = 0;
    const { signal } = new AbortController();
    const hashesFile = join(folder, 'key-hashes');
    const options = {
      ...reading,
      prefix,
      signal,
      turn: new OnlyTurn(),
      onProgress: () => undefined,
      hashesFile,
      onRepeats: (tasks: RepeatedTasks) => void (repeatedTasks = tasks.count),
    };
    for await (const tasks of readManifest(open, options)) tasksRead += tasks.length;
    return { files: tasksRead - repeatedTasks, repeatedTasks };
  } finally {
    await rm(folder, { recursive: true });
  }
}
