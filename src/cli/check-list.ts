import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { countFiles, ManifestError, type ListReading } from '../intake/index.js';
import { UsageError } from './cli-error.js';
import { unreadableReason } from './list-problems.js';

export interface ListCheck {
  files: number;
  /** Files that are there again, word for word: each counts once. */
  repeatedTasks: number;
  /** The first of them. */
  problems: readonly { line: number; reason: string }[];
  totalProblems: number;
}

/**
 * Reads a list that can be read once as the service will.
 * @param prefix the destination's, which keys are checked with
 * @throws what `bytes` throws
 */
export async function checkBytes(bytes: AsyncIterable<Buffer>, prefix: string, reading: ListReading): Promise<ListCheck> {
  // A list is read twice to prove a key that is there twice.
  const folder = await mkdtemp(join(tmpdir(), 'export-worker-list-'));
  try {
    const copy = join(folder, 'list');
    await pipeline(bytes, createWriteStream(copy));
    return await checkFile(copy, prefix, reading);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * The same for a file.
 * @throws UsageError when it cannot be read
 */
export async function checkFile(path: string, prefix: string, reading: ListReading): Promise<ListCheck> {
  try {
    const counts = await countFiles(() => Promise.resolve(createReadStream(path)), prefix, reading);
    return { ...counts, problems: [], totalProblems: 0 };
  } catch (error) {
    if (error instanceof ManifestError) return { files: 0, repeatedTasks: 0, problems: error.problems, totalProblems: error.total };
    if ((error as NodeJS.ErrnoException).syscall !== undefined)
      throw new UsageError(`The list ${path} cannot be read (${unreadableReason(error)}): give a file`);
    throw error;
  }
}
