import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { CliError } from './cli-error.js';

/**
 * Runs a program of `infra/`, which only a checkout has; answers its exit code. SIGTERM is passed on. SIGINT is, too, unless it
 * came from a terminal: that one has sent it to the program already, and a second one means "at once" there. Both are listened
 * to until this process ends, because npm may pass one on late.
 */
export async function runFromCheckout(program: 'local-aws' | 'demo', args: readonly string[]): Promise<number> {
  const script = fileURLToPath(new URL(`../../infra/${program}/main.js`, import.meta.url));
  if (!existsSync(script))
    throw new CliError(
      'This installation has no emulators (the container image leaves them out): run this in a checkout, after npm ci && npm run build',
    );
  const child = spawn(process.execPath, [script, ...args], { stdio: 'inherit' });
  const terminate = () => child.kill('SIGTERM');
  const interrupt = () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  };
  process.on('SIGTERM', terminate).on('SIGINT', interrupt);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
