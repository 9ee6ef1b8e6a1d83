#!/usr/bin/env node
import { keepHeapsSmall } from '../platform/small-heaps.js';

// Before anything else is loaded, for `serve`: hence the import below it.
keepHeapsSmall();
const { runCli } = await import('./program.js');

// A reader that has seen enough (`jobs | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await runCli(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: {
    write: (text) => process.stderr.write(text),
    isTty: process.stderr.isTTY,
    columns: process.stderr.columns ?? 80,
  },
});
