import { beginOf, printable } from './terminal-text.js';

/** Where people look while they wait. */
export interface ProgressOutput {
  write(text: string): void;
  readonly isTty: boolean;
  readonly columns: number;
}

/** A pipe has no width of its own: what it carries is read in a terminal sooner or later. */
const PIPE_COLUMNS = 80;

export function columnsOf({ isTty, columns }: Pick<ProgressOutput, 'isTty' | 'columns'>): number {
  return isTty ? columns : PIPE_COLUMNS;
}

const LINE_EVERY_MS = 5_000;
const CLEAR_LINE = '\r\u001B[K';

/** One line that stays in its place on a terminal; elsewhere a line now and then, and at each change of the label. */
export class StatusLine {
  private shown: { label: string; atMs: number; text: string } | undefined;

  constructor(private readonly output: ProgressOutput) {}

  /** @param label what is going on, in a word; part of the text */
  show(label: string, line: string, nowMs = performance.now()): void {
    const text = printable(line);
    if (this.output.isTty) this.output.write(`${CLEAR_LINE}${beginOf(text, this.output.columns - 1)}`);
    else if (!this.isDue(label, nowMs, text)) return;
    else this.output.write(`${text}\n`);
    this.shown = { label, atMs: nowMs, text };
  }

  /** Leaves the line as it is; what is written next starts on a new one. */
  end(): void {
    if (this.shown !== undefined && this.output.isTty) this.output.write('\n');
    this.shown = undefined;
  }

  private isDue(label: string, nowMs: number, text: string): boolean {
    const { shown } = this;
    if (shown === undefined || shown.label !== label) return true;
    return nowMs - shown.atMs >= LINE_EVERY_MS && text !== shown.text;
  }
}
