// Builds when something that the build reads is younger than what it wrote, and says so: `npm run demo` and `npm run local` begin with it.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';

const BUILT = 'dist/src/main.js';
const FILES = ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];
const FOLDERS = ['src', 'infra'];

/** A folder's time tells of files that were removed or renamed. */
function youngestMs() {
  const below = FOLDERS.flatMap((folder) => [
    folder,
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  ]);
  return Math.max(...[...FILES, ...below].map((path) => statSync(path).mtimeMs));
}

const builtMs = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (youngestMs() >= builtMs) {
  process.stderr.write(builtMs === 0 ? 'Building; this takes a while …\n' : 'Something changed: building …\n');
  process.exitCode = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' }).status ?? 1;
}
