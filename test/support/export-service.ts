import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from './local-aws.js';

/** npm and jest run in the project's root; this file itself may run compiled, from elsewhere. */
const ENTRY = resolve('dist/src/main.js');

export interface LogEvent {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/**
 * Whom the signals of a test reach: the service alone, or all of a process group whose first process is `npm run start`, as Ctrl-C in a
 * terminal does. npm passes on what it gets, so that the service gets each signal twice.
 */
export type Signalled = 'process' | 'npm-group';

/** The built service as a process of its own. */
export class ExportService {
  /** Every line it wrote, as written. */
  readonly lines: string[] = [];
  private readonly logged: LogEvent[] = [];
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly startedAt = performance.now();
  private ended = false;

  private constructor(
    private readonly child: ChildProcess,
    private readonly signalled: Signalled,
  ) {
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.heard(line));
    this.exited = new Promise((resolve) =>
      child.once('close', (code, signal) => {
        this.ended = true;
        resolve({ code, signal });
      }),
    );
  }

  static launch(environment: Record<string, string>, signalled: Signalled = 'process'): ExportService {
    const env = { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'debug', WORKER_POOL_SIZE: '2', ...environment };
    const [command, args] = signalled === 'process' ? [process.execPath, [ENTRY]] : ['npm', ['run', '--silent', 'start']];
    const options: SpawnOptions = { env, stdio: ['ignore', 'pipe', 'pipe'], detached: signalled === 'npm-group' };
    return new ExportService(spawn(command, args, options), signalled);
  }

  /** @throws with its last lines when it ends before it is ready */
  static async start(environment: Record<string, string>, signalled?: Signalled): Promise<ExportService> {
    const service = ExportService.launch(environment, signalled);
    await eventually(() => service.ended || service.said('Service started'));
    if (service.ended) throw new Error(`The service ended while starting:\n${service.lines.slice(-20).join('\n')}`);
    return service;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get url(): string {
    return String(this.events().find((event) => event.msg === 'HTTP server listening')?.url);
  }

  get coordinatorId(): unknown {
    return this.events().find((event) => event.coordinatorId !== undefined)?.coordinatorId;
  }

  events(): readonly LogEvent[] {
    return this.logged;
  }

  said(message: string): boolean {
    return this.events().some((event) => event.msg.includes(message));
  }

  /** What its metrics say of this counter, all labels together; 0 when nothing was counted. */
  async counted(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return samples.reduce((sum, sample) => sum + Number(sample.split(' ').at(-1)), 0);
  }

  private heard(line: string): void {
    this.lines.push(line);
    if (line.startsWith('{')) this.logged.push(JSON.parse(line) as LogEvent);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.signalled === 'process') this.child.kill(signal);
    else process.kill(-this.pid, signal);
  }

  /** The signal, and what became of it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    if (!this.ended) this.signal(signal);
    return this.exited;
  }

  async kill(): Promise<void> {
    if (!this.ended) this.signal('SIGKILL');
    await this.exited;
  }
}
