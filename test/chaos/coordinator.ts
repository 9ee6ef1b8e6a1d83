import { rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ExportService } from '../support/export-service.js';
import type { FaultProxy } from './fault-proxy.js';
import { letter } from './plan.js';

/** npm runs in the project's root; this file runs compiled, from elsewhere. */
const SKEWED_CLOCK = pathToFileURL(resolve('test/support/skewed-clock.mjs')).href;
/** A service that could not start, its network being what it is here, is started again, as ECS does. */
const START_TRIES = 10;
const START_AGAIN_AFTER_MS = 300;
const START_TIMEOUT_MS = 60_000;
/** What it is given, and the time that a busy machine may take. */
export const SHUTDOWN_TIMEOUT_MS = 6_000;
const EXIT_GRACE_MS = 10_000;

/** One place of the fleet: the process that runs there now, those before it, their network and their clock. */
export class Coordinator {
  /** All that ever ran here, the oldest first. */
  readonly processes: ExportService[] = [];
  /** What no fault explains. */
  readonly problems: string[] = [];
  /** Processes that were ended by -9. */
  killed = 0;
  /** Processes that a fault kept from giving signs of life; a clock that is wrong keeps nobody. */
  readonly disturbed = new Set<ExportService>();
  private readonly running = new Set<ExportService>();
  /** Those that a signal of ours has ended, or will. */
  private readonly doomed = new Set<ExportService>();
  private readonly ready = new Set<ExportService>();
  private clockVersion = 0;
  private starting: Promise<void> | undefined;

  constructor(
    readonly number: number,
    readonly proxy: FaultProxy,
    private readonly environment: Record<string, string>,
    private readonly clockFile: string,
    private offsetMs: number,
  ) {}

  get name(): string {
    return letter(this.number);
  }

  /** Nothing runs here that may go on. */
  get isDown(): boolean {
    return [...this.running].every((service) => this.doomed.has(service));
  }

  /** Resolves when a process is ready here; one start at a time. @throws when it fails again and again */
  start(): Promise<void> {
    this.starting ??= this.launch().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  /** Unless one runs here, or is being started. */
  async ensureStarted(): Promise<void> {
    if (this.starting !== undefined || this.isDown) await this.start();
  }

  /** -9 to whatever runs here. */
  async kill(): Promise<void> {
    this.killed += this.running.size;
    await Promise.all(this.disturb().map((service) => this.end(service, 'SIGKILL')));
  }

  /** -9, and nothing waits for it. */
  abandon(): void {
    for (const service of this.running) service.signal('SIGKILL');
  }

  /** A new process starts while the old one shuts down. */
  async replace(): Promise<void> {
    const old = this.disturb();
    const started = this.start();
    await Promise.all([started, ...old.map((service) => this.shutDown(service))]);
  }

  /** Stopped by the system for a while, as on a host that swaps. */
  async freeze(forMs: number): Promise<void> {
    const frozen = this.disturb();
    for (const service of frozen) service.signal('SIGSTOP');
    await sleep(forMs);
    for (const service of frozen) service.signal('SIGCONT');
  }

  /** S3 stays: a task whose upload fails for good is a failed task, and no fault of the protocol. */
  async cutOff(forMs: number): Promise<void> {
    this.disturb();
    const services = ['dynamodb', 'sqs', 'states'] as const;
    const ends = services.map((service) => this.proxy.rules.add({ service, action: { kind: 'cut' } }));
    await sleep(forMs);
    for (const end of ends) end();
  }

  async jump(byMs: number): Promise<void> {
    this.offsetMs += byMs;
    // Whoever reads it meanwhile must not find it empty.
    const next = `${this.clockFile}.${++this.clockVersion}`;
    await writeFile(next, String(this.offsetMs));
    await rename(next, this.clockFile);
  }

  /** SIGTERM; what still runs after that is a problem. */
  async shutDownAll(): Promise<void> {
    await Promise.all([...this.running].map((service) => this.shutDown(service)));
  }

  private disturb(): ExportService[] {
    for (const service of this.running) this.disturbed.add(service);
    return [...this.running];
  }

  private async launch(): Promise<void> {
    for (let tried = 1; tried <= START_TRIES; tried++) {
      await this.jump(0);
      const service = ExportService.launch({
        ...this.environment,
        ...this.proxy.environment(),
        CLOCK_OFFSET_FILE: this.clockFile,
        NODE_OPTIONS: `--import=${SKEWED_CLOCK}`,
      });
      this.processes.push(service);
      this.running.add(service);
      const ready = await isReady(service);
      if (ready) this.ready.add(service);
      void this.watch(service);
      if (ready) return;
      await sleep(START_AGAIN_AFTER_MS);
    }
    throw new Error(`${this.name} could not be started ${START_TRIES} times`);
  }

  private async watch(service: ExportService): Promise<void> {
    const { code, signal } = await service.exited;
    this.running.delete(service);
    if (this.ready.has(service) && !this.doomed.has(service))
      this.problems.push(`${this.name} ended on its own (${signal ?? `exit code ${code}`})`);
  }

  private async shutDown(service: ExportService): Promise<void> {
    const { code, signal } = await this.end(service, 'SIGTERM');
    // A kill may have come on top, or SIGTERM before there was anyone to hear it.
    if (code !== 0 && signal !== 'SIGKILL' && this.ready.has(service))
      this.problems.push(`${this.name} ended its shutdown with ${signal ?? `exit code ${code}`}`);
  }

  private async end(service: ExportService, signal: 'SIGTERM' | 'SIGKILL') {
    // A second SIGTERM means: end at once, whatever is in hand.
    const isRepeated = signal === 'SIGTERM' && this.doomed.has(service);
    this.doomed.add(service);
    if (!isRepeated) service.signal(signal);
    const tooLong = setTimeout(() => {
      this.problems.push(`${this.name} did not end within ${SHUTDOWN_TIMEOUT_MS + EXIT_GRACE_MS} ms of ${signal}`);
      service.signal('SIGKILL');
    }, SHUTDOWN_TIMEOUT_MS + EXIT_GRACE_MS);
    return service.exited.finally(() => clearTimeout(tooLong));
  }
}

async function isReady(service: ExportService): Promise<boolean> {
  const ended = service.exited.then(() => true);
  for (const deadline = performance.now() + START_TIMEOUT_MS; performance.now() < deadline;) {
    if (service.said('Service started')) return true;
    if (await Promise.race([ended, sleep(50, false)])) return false;
  }
  await service.kill();
  return false;
}
