import { spawn } from 'node:child_process';
import { access, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { once } from 'node:events';
import { progress } from '../../report/progress.js';

/** Pinned, so that two benches compare with the same. */
export const RCLONE_VERSION = 'v1.76.0';
/** Out of version control; `npm run bench` runs in the project's root. */
const CACHE = resolve('.bench');

/**
 * The pinned rclone, built once by the Go toolchain through its module proxy (some minutes on two cores, 110 MB).
 * Undefined, with the reason on stderr, when there is no Go or it cannot build.
 */
export async function builtRclone(): Promise<string | undefined> {
  const folder = join(CACHE, `rclone-${RCLONE_VERSION}`);
  const binary = join(folder, 'rclone');
  if (await exists(binary)) return binary;
  progress(`rclone ${RCLONE_VERSION} is built with Go into ${folder}; that takes some minutes once …`);
  await mkdir(folder, { recursive: true });
  const code = await goInstall(folder);
  if (code === 0 && (await exists(binary))) return binary;
  progress(
    code === undefined
      ? 'There is no `go` on the PATH: the bench goes on without rclone.'
      : 'rclone could not be built (see above; it needs the Go module proxy): the bench goes on without rclone.',
  );
  return undefined;
}

/** Its exit code; undefined when there is no Go. */
async function goInstall(folder: string): Promise<number | undefined> {
  const args = ['install', '-trimpath', '-ldflags', '-s -w', `github.com/rclone/rclone@${RCLONE_VERSION}`];
  const env = { ...process.env, GOBIN: folder, GOFLAGS: '', CGO_ENABLED: '0' };
  const go = spawn('go', args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  try {
    const [code] = (await once(go, 'close')) as [number | null];
    return code ?? 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
