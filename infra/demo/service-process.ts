import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DemoError } from './demo-error.js';

const ENTRY = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const START_TIMEOUT_MS = 30_000;

/** The service as a process of its own that knows nothing but its environment; it logs into a file. */
export class ServiceProcess {
  private readonly exited: Promise<number | null>;
  private readonly killAtExit = () => void this.child.kill('SIGKILL');

  private constructor(
    private readonly child: ChildProcess,
    private readonly logFile: string,
  ) {
    // The demo may end by a crash of its own: nothing of it shall be left running.
    process.once('exit', this.killAtExit);
    this.exited = new Promise((resolve) => child.once('exit', resolve));
    void this.exited.then(() => process.off('exit', this.killAtExit));
  }

  static async launch(environment: Record<string, string>, logFile: string): Promise<ServiceProcess> {
    const log = await open(logFile, 'w');
    try {
      // Detached from the terminal: Ctrl-C there is for the demo, which ends the service itself.
      const options: SpawnOptions = { env: environment, stdio: ['ignore', log.fd, log.fd], detached: true };
      return new ServiceProcess(spawn(process.execPath, [ENTRY], options), logFile);
    } finally {
      await log.close();
    }
  }

  /** @throws DemoError when it ends before it is ready; AbortError */
  async ready(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await this.log()).includes('"msg":"Service started"')) {
      await this.refuseEnded();
      if (performance.now() > deadline)
        throw new DemoError(`The service was not ready within ${START_TIMEOUT_MS / 1_000} s:\n${await this.lastLines()}`);
      await sleep(50, undefined, { signal });
    }
  }

  /** @throws DemoError with its last words when it has ended on its own */
  async refuseEnded(): Promise<void> {
    const { exitCode, signalCode } = this.child;
    if (exitCode === null && signalCode === null) return;
    throw new DemoError(
      `The service ended on its own (${signalCode ?? `exit code ${exitCode}`}); its last words:\n${await this.lastLines()}`,
    );
  }

  /** 99th percentile of the main loop's delay in milliseconds: since its start, because nobody else collects. */
  async mainLoopDelayP99Ms(signal: AbortSignal): Promise<number> {
    const url = /"url":"([^"]+)"[^\n]*"msg":"HTTP server listening"/.exec(await this.log())?.[1];
    if (url === undefined) throw new DemoError('The service did not log where it listens');
    const metrics = await (await fetch(`${url}/metrics`, { signal })).text();
    const seconds = /^event_loop_lag_seconds\{quantile="0\.99"\} (\S+)$/m.exec(metrics)?.[1];
    return Math.round(Number(seconds) * 10_000) / 10;
  }

  /** SIGTERM; answers the exit code, null after a violent end. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.exited;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
  }

  private async lastLines(): Promise<string> {
    return (await this.log()).trimEnd().split('\n').slice(-10).join('\n');
  }

  private log(): Promise<string> {
    return readFile(this.logFile, 'utf8');
  }
}
