import { RepeatedSignal, SystemClock } from '../shared/index.js';
import { EXIT_DETACHED } from './exit-codes.js';
import type { ProgressOutput } from './presentation/index.js';
import type { Services } from './services.js';

/** Answers go to `out`; progress and problems to `err`, so that a pipe gets answers only. */
export interface Terminal {
  out(text: string): void;
  err: ProgressOutput;
}

/** What a command works with. */
export class Cli {
  /** Set by a command that has said itself what went wrong. */
  exitCode = 0;

  constructor(
    readonly terminal: Terminal,
    private readonly open: () => Promise<Services>,
  ) {}

  async use(work: (services: Services) => Promise<void>): Promise<void> {
    const services = await this.open();
    // The timers of the service's parts hold no process: without this one, a command that waits for one of them would just end.
    const holding = setInterval(() => undefined, 60_000);
    try {
      await work(services);
    } finally {
      clearInterval(holding);
      await services.close();
    }
  }

  /** The signal is aborted by Ctrl-C or SIGTERM, which end the process at once when they come a second time, or outside of this. */
  async interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const interrupt = new AbortController();
    const repeated = new RepeatedSignal(new SystemClock());
    const release = () => void process.off('SIGINT', abort).off('SIGTERM', abort);
    const abort = () => {
      if (repeated.take() === 'second') process.exit(EXIT_DETACHED);
      interrupt.abort();
    };
    process.on('SIGINT', abort).on('SIGTERM', abort);
    try {
      return await work(interrupt.signal);
    } finally {
      if (!interrupt.signal.aborted) release();
    }
  }

  printJson(value: unknown): void {
    this.terminal.out(`${JSON.stringify(value)}\n`);
  }

  tell(line: string): void {
    this.terminal.err.write(`${line}\n`);
  }
}
