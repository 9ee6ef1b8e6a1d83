import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BenchError } from '../report/bench-error.js';

/** A Node process of the bench's own that says one line of JSON for each step; its stderr is ours. */
export class TalkingProcess {
  readonly exited: Promise<number | null>;
  private readonly lines: AsyncIterator<string>;
  private readonly killAtExit = () => void this.child.kill('SIGKILL');

  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
  ) {
    if (child.stdout === null) throw new Error('the output of a talking process is read');
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    process.once('exit', this.killAtExit);
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => {
        process.off('exit', this.killAtExit);
        resolve(code);
      });
    });
  }

  /** @param entry compiled, as a URL */
  static start(name: string, entry: URL, args: readonly string[] = [], environment: Record<string, string> = {}): TalkingProcess {
    const env = { ...cleanEnvironment(), ...environment };
    const argv = ['--enable-source-maps', fileURLToPath(entry), ...args];
    return new TalkingProcess(name, spawn(process.execPath, argv, { env, stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** @throws BenchError when it ends without saying more */
  async hear<T>(): Promise<T> {
    const next = await this.lines.next();
    if (next.done === true) throw new BenchError(`${this.name} ended (exit code ${await this.exited}); its last words are above.`);
    return JSON.parse(next.value) as T;
  }

  say(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Ends its input, upon which it ends by itself, and is killed if it has not after 10 s. */
  async stop(): Promise<void> {
    this.child.stdin?.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await this.exited;
    clearTimeout(timer);
  }
}

/** A person's own AWS settings must not mix with the bench's. */
export function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|RCLONE)_/.test(name)));
}
