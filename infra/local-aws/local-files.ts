import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** What one running local has in the folder `.local`. Of several, the first has `env` and `logs`, the second `env-2` and `logs-2`, … */
export interface LocalFiles {
  /** Shell commands that let a terminal's programs find the embedded AWS, and nothing of a person's own account. */
  environmentFile: string;
  /** Holds one log of each service; stays when everything is stopped. */
  logFolder: string;
  writeEnvironment(environment: Record<string, string>): void;
  /** Leaves the logs. */
  remove(): void;
}

/** Takes the first number that no other running local has: its files are never touched. */
export function claimLocalFiles(folder: string, pid = process.pid): LocalFiles {
  mkdirSync(folder, { recursive: true });
  const mark = `# local ${pid}`;
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const environmentFile = join(folder, `env${suffix}`);
    if (!claim(environmentFile, `${mark}\necho 'npm run local is still starting: source this again' >&2\n`)) continue;
    const logFolder = join(folder, `logs${suffix}`);
    mkdirSync(logFolder, { recursive: true });
    return {
      environmentFile,
      logFolder,
      writeEnvironment: (environment) => {
        const lines = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`);
        writeFileSync(environmentFile, [mark, 'unset AWS_PROFILE AWS_SESSION_TOKEN', ...lines, ''].join('\n'));
      },
      remove: () => {
        if (contentOf(environmentFile).startsWith(`${mark}\n`)) rmSync(environmentFile);
      },
    };
  }
}

/** False: a process that runs has it. */
function claim(file: string, text: string): boolean {
  for (;;) {
    try {
      const created = openSync(file, 'wx');
      writeSync(created, text);
      closeSync(created);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const owner = Number(/^# local (\d+)$/m.exec(contentOf(file))?.[1] ?? 0);
      if (owner > 0 && isRunning(owner)) return false;
      rmSync(file, { force: true });
    }
  }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
