import { spawn, type ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';

/** npm runs in the project's root; this file itself runs compiled, from elsewhere. */
const ENTRY = resolve('dist/src/cli/main.js');

/** The built command of an operator as a process of its own. */
export class Command {
  said = '';
  readonly ended: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (this.said += data.toString()));
    this.ended = new Promise((resolve) => child.once('close', resolve));
  }

  static start(args: readonly string[], environment: Record<string, string>): Command {
    const env = { PATH: process.env.PATH, ...environment };
    return new Command(spawn(process.execPath, [ENTRY, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
