import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Makes the directory and marks it as ours: two processes on one would destroy each other's rows and objects.
 * @throws Error when a living process has it
 */
export async function claimDataDir(dataDir: string): Promise<{ close(): Promise<void> }> {
  await mkdir(dataDir, { recursive: true });
  const mark = join(dataDir, 'in-use-by');
  const holder = Number(await readFile(mark, 'utf8').catch(() => '0'));
  if (holder > 0 && isAlive(holder))
    throw new Error(`${dataDir} is in use by process ${holder}. If that is something else, delete ${mark}.`);
  await writeFile(mark, `${process.pid}`);
  return { close: () => rm(mark, { force: true }) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
