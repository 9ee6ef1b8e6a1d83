import { refuseOldNode } from '../platform/node-version.js';

refuseOldNode();
// Both must come before anything else is loaded, hence the imports below them. Only the service lives
// long enough to need small heaps: they would cost every other command a third of its start.
const { enableCompileCache } = await import('node:module');
const { keepHeapsSmall } = await import('../platform/small-heaps.js');
enableCompileCache();
if (process.argv[2] === 'serve') keepHeapsSmall();
const { runCli } = await import('./program.js');
const { endProcess } = await import('../shared/index.js');

// A reader that has seen enough (`jobs | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const outputTo = (stream: NodeJS.WriteStream) => ({
  write: (text: string) => void stream.write(text),
  isTty: stream.isTTY,
  // A terminal's width may change while a command runs.
  get columns() {
    return stream.columns ?? 80;
  },
});
const exitCode = await runCli(process.argv.slice(2), { out: outputTo(process.stdout), err: outputTo(process.stderr) });
await endProcess(exitCode);
