#!/usr/bin/env node
// The command `export-worker`. It lies outside of dist/ so that it can be executed after every build and is there before the first.
import { existsSync } from 'node:fs';

// The service alone takes less memory without the other commands.
const onlyServes = process.argv.length === 3 && process.argv[2] === 'serve';
const program = new URL(onlyServes ? '../dist/src/main.js' : '../dist/src/cli/main.js', import.meta.url);
if (existsSync(program)) await import(program);
else {
  process.stderr.write('Nothing is built yet: npm run build\n');
  process.exitCode = 1;
}
