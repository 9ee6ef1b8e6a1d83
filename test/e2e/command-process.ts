import { spawn, type ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Compiled modules are kept where the service keeps its own, also by programs that keep none or
 * have a temporary folder to themselves.
 */
const ENVIRONMENT = { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') };

/** A built program of this repository as a process. */
export class CommandProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<CommandResult>;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.on('data', (data: Buffer) => (this.stdout += data.toString()));
    child.stderr?.on('data', (data: Buffer) => (this.stderr += data.toString()));
    this.ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr })));
  }

  /** @param script under dist/ */
  static start(script: string, args: readonly string[], environment: Record<string, string> = {}, input = ''): CommandProcess {
    const path = fileURLToPath(new URL(`../../dist/${script}`, import.meta.url));
    const child = spawn(process.execPath, [path, ...args], { env: { ...ENVIRONMENT, ...environment } });
    child.stdin.end(input);
    return new CommandProcess(child);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
