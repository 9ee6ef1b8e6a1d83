import { RepeatedSignal, SystemClock } from '../shared/index.js';
import { EXIT_DETACHED } from './exit-codes.js';
import type { NeededSetting } from '../config/index.js';
import { columnsOf, printableLines, sentence, type ProgressOutput } from './presentation/index.js';
import type { Services } from './services.js';

/** Answers go to `out`; progress and problems to `err`, so that a pipe gets answers only. */
export interface Terminal {
  out: ProgressOutput;
  err: ProgressOutput;
}

/** What a command works with. */
export class Cli {
  /** Set by a command that has said itself what went wrong. */
  exitCode = 0;

  constructor(
    readonly terminal: Terminal,
    private readonly open: (needed: readonly NeededSetting[]) => Promise<Services>,
  ) {}

  /** @param needed the settings without which the command cannot work */
  async use<T>(needed: readonly NeededSetting[], work: (services: Services) => Promise<T>): Promise<T> {
    const services = await this.open(needed);
    // The timers of the service's parts hold no process: without this one, a command that waits for one of them would just end.
    const holding = setInterval(() => undefined, 60_000);
    try {
      return await work(services);
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
    this.print(`${JSON.stringify(value)}\n`);
  }

  /** The answer, as it is but for what would steer a terminal: names of others stand in it. */
  print(text: string): void {
    this.terminal.out.write(printableLines(text));
  }

  /** The answer in a sentence. */
  say(line: string): void {
    this.print(`${sentence(line, this.terminal.out)}\n`);
  }

  tell(line: string): void {
    this.terminal.err.write(`${sentence(line, this.terminal.err)}\n`);
  }

  /** What the lines of tables and facts keep to, unless everything is to be shown whole. */
  width(wide?: boolean): number {
    return wide === true ? Infinity : columnsOf(this.terminal.out);
  }
}
