import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * JSON files under one folder. A file appears whole or not at all (written aside, then renamed).
 * Synchronous on purpose: what the index in memory says and what a restart would read change in one step,
 * so two requests for one key can't cross between the two.
 */
export class Sidecars {
  constructor(private readonly folder: string) {}

  /** Its folder must exist. */
  write(path: string, value: unknown): void {
    const target = join(this.folder, path);
    writeFileSync(`${target}.new`, JSON.stringify(value));
    renameSync(`${target}.new`, target);
  }

  makeFolder(path: string): void {
    mkdirSync(join(this.folder, path), { recursive: true });
  }

  /** A file, or a folder with what is in it. */
  remove(path: string): void {
    rmSync(join(this.folder, path), { recursive: true, force: true });
  }

  read(path: string): unknown {
    return JSON.parse(readFileSync(join(this.folder, path), 'utf8'));
  }

  /** Names in a folder; none where there is no such folder. Leftovers of a write that a crash cut short are passed over. */
  list(path: string): string[] {
    try {
      return readdirSync(join(this.folder, path)).filter((name) => !name.endsWith('.new'));
    } catch {
      return [];
    }
  }
}
