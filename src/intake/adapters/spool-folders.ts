import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { OnModuleInit } from '@nestjs/common';
import { hash32, toLoggable, type AppLogger } from '../../shared/index.js';

const PREFIX = 'export-manifest-';
/** Who made a folder: the host, because another container may share the disk and count its processes for itself, and the process. */
const OWNED = /^export-manifest-([0-9a-f]+)-(\d+)-\w+$/;

export interface Owner {
  host: string;
  pid: number;
}

const SELF: Owner = { host: hostname(), pid: process.pid };

/** A folder of its own for the files of one list. */
export function makeSpoolFolder(parent: string, owner = SELF): Promise<string> {
  return mkdtemp(join(parent, `${PREFIX}${hostTag(owner)}-${owner.pid}-`));
}

/**
 * Removes, at the start of a process, what killed ones have left: a list may be gigabytes, and no one else ever removes it.
 * One with this process's own id is of a former life, because this one has read no list yet; in a container each life has the same id.
 * Not guaranteed: that all of it goes. The id of a dead process may be another one's by now; its folder then waits for a later start.
 */
export class SpoolSweep implements OnModuleInit {
  constructor(
    private readonly parent: string,
    private readonly logger: AppLogger,
    private readonly self = SELF,
    private readonly isAlive = isRunning,
  ) {}

  /** Never rejects: a folder that cannot be removed keeps no service from its work. */
  async onModuleInit(): Promise<void> {
    try {
      const left = (await readdir(this.parent)).filter((name) => this.isLeftBehind(name));
      for (const name of left) await rm(join(this.parent, name), { recursive: true, force: true });
      if (left.length > 0) this.logger.info('Lists of killed processes removed from the temporary folder', { folders: left.length });
    } catch (error) {
      this.logger.warn('What killed processes have left in the temporary folder could not be removed', {
        folder: this.parent,
        error: toLoggable(error),
      });
    }
  }

  private isLeftBehind(name: string): boolean {
    const [, host, pid] = OWNED.exec(name) ?? [];
    return host === hostTag(this.self) && (Number(pid) === this.self.pid || !this.isAlive(Number(pid)));
  }
}

function hostTag({ host }: Owner): string {
  return hash32(host).toString(16);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // One of another user runs, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
