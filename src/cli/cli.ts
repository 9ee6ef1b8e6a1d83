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

  /** Opens the services for `work`; the signal is aborted by Ctrl-C or SIGTERM. */
  async use(work: (services: Services, signal: AbortSignal) => Promise<void>): Promise<void> {
    const services = await this.open();
    const interrupt = new AbortController();
    const abort = () => interrupt.abort();
    process.once('SIGINT', abort).once('SIGTERM', abort);
    try {
      await work(services, interrupt.signal);
    } finally {
      process.off('SIGINT', abort).off('SIGTERM', abort);
      await services.close();
    }
  }

  printJson(value: unknown): void {
    this.terminal.out(`${JSON.stringify(value)}\n`);
  }

  tell(line: string): void {
    this.terminal.err.write(`${line}\n`);
  }
}
