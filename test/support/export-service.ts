import { spawn, type ChildProcess } from 'node:child_process';
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

/** The built service as a process of its own. */
export class ExportService {
  /** Every line it wrote, as written. */
  readonly lines: string[] = [];
  private readonly logged: LogEvent[] = [];
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly startedAt = performance.now();
  private ended = false;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.heard(line));
    this.exited = new Promise((resolve) =>
      child.once('close', (code, signal) => {
        this.ended = true;
        resolve({ code, signal });
      }),
    );
  }

  static launch(environment: Record<string, string>): ExportService {
    const env = { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'debug', WORKER_POOL_SIZE: '2', ...environment };
    return new ExportService(spawn(process.execPath, [ENTRY], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** @throws with its last lines when it ends before it is ready */
  static async start(environment: Record<string, string>): Promise<ExportService> {
    const service = ExportService.launch(environment);
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
    this.child.kill(signal);
  }

  /** SIGTERM, and what became of it. */
  async stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    if (!this.ended) this.signal('SIGTERM');
    return this.exited;
  }

  async kill(): Promise<void> {
    if (!this.ended) this.signal('SIGKILL');
    await this.exited;
  }
}
