import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { listen } from './listen.js';

export interface Coordinator {
  pid: number;
  url: string;
  healthUrl: string;
  /** A file. */
  log: string;
}

const SERVICE = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const READY_WITHIN_MS = 30_000;
/** As Fargate waits by default. */
const STOP_TIMEOUT_MS = 30_000;

/** The services that run on the embedded AWS: built, each a process of its own, with a log of its own. One that dies is reported, not replaced. */
export class Coordinators {
  private readonly children = new Set<ChildProcess>();
  private stopping = false;

  constructor(
    private readonly environment: Record<string, string>,
    private readonly logFolder: string,
    private readonly report: (line: string) => void,
  ) {
    process.once('exit', () => this.kill());
  }

  /**
   * Starts one and waits until it is ready.
   * @param number from 1, names its log
   * @param port 0: any free one
   * @throws Error when the port is in use (code `EADDRINUSE`), or when it ends or is not ready within 30 s
   */
  async start(number: number, port: number, signal: AbortSignal): Promise<Coordinator> {
    const url = await freeAddress(port);
    signal.throwIfAborted();
    const log = join(this.logFolder, `coordinator-${number}.log`);
    const child = this.launch(new URL(url).port, log);
    const pid = child.pid ?? 0;
    const healthUrl = `${url}/health/ready`;
    const deadline = performance.now() + READY_WITHIN_MS;
    while (!(await isReady(healthUrl, signal))) {
      signal.throwIfAborted();
      if (!this.children.has(child)) throw new Error(`Coordinator ${pid} ended before it was ready; its log: ${log}`);
      if (performance.now() > deadline)
        throw new Error(`Coordinator ${pid} is not ready after ${READY_WITHIN_MS / 1_000} s; its log: ${log}`);
      await sleep(50);
    }
    child.once('exit', (code, cause) => {
      if (this.stopping) return;
      const live = this.children.size;
      const left = live === 0 ? 'No coordinator lives: jobs wait until one is started' : `${live} of them live, and go on`;
      this.report(`Coordinator ${pid} ended (${cause ?? `exit code ${code}`}). ${left}. Its log: ${log}`);
    });
    return { pid, url, healthUrl, log };
  }

  /** SIGTERM to all, SIGKILL to who is still there after 30 s. */
  async stop(): Promise<void> {
    this.stopping = true;
    const timer = setTimeout(() => this.kill(), STOP_TIMEOUT_MS);
    await Promise.all(
      Array.from(this.children, (child) => {
        child.kill('SIGTERM');
        return new Promise((resolve) => child.once('exit', resolve));
      }),
    );
    clearTimeout(timer);
  }

  kill(): void {
    for (const child of this.children) child.kill('SIGKILL');
  }

  private launch(port: string, log: string): ChildProcess {
    // A person's own AWS account must not mix with these credentials.
    const { AWS_PROFILE: _profile, AWS_SESSION_TOKEN: _token, ...inherited } = process.env;
    const env = { ...inherited, ...this.environment, HOST: '127.0.0.1', PORT: port };
    // Detached from the terminal: Ctrl-C there would be its first signal and our SIGTERM its second, which ends it at once.
    const output = openSync(log, 'w');
    const child = spawn(process.execPath, [SERVICE], { env, stdio: ['ignore', output, output], detached: true });
    closeSync(output);
    this.children.add(child);
    child.once('exit', () => this.children.delete(child));
    return child;
  }
}

async function freeAddress(port: number): Promise<string> {
  const server = createServer();
  const url = await listen(server, port);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

async function isReady(healthUrl: string, signal: AbortSignal): Promise<boolean> {
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(2_000)]);
  return fetch(healthUrl, { signal: timeout }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.ok;
    },
    () => false,
  );
}
