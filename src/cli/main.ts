#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { keepHeapsSmall } from '../platform/small-heaps.js';

// Both must come before anything else is loaded, hence the import below them. Only the service lives
// long enough to need small heaps: they would cost every other command a third of its start.
enableCompileCache();
if (process.argv[2] === 'serve') keepHeapsSmall();
const { runCli } = await import('./program.js');
const { endProcess } = await import('../shared/index.js');

// A reader that has seen enough (`jobs | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const exitCode = await runCli(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: {
    write: (text) => process.stderr.write(text),
    isTty: process.stderr.isTTY,
    columns: process.stderr.columns ?? 80,
  },
});
await endProcess(exitCode);
