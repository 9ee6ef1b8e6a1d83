import { formatBytes, formatDuration } from './format.js';
import { RateMeter } from './rate-meter.js';
import { columnsOf, StatusLine, type ProgressOutput } from './status-line.js';
import { widthOf } from './terminal-text.js';

export interface Progress {
  /** What is going on, in a word. */
  label: string;
  completed: number;
  failed: number;
  /** Unknown until the manifest has been read. */
  total?: number | undefined;
  /** Those that have arrived of files in hand included. */
  bytes: number;
  /** For whom its files wait, and until when. */
  waits?: string;
  /** Nothing of it moves any more. */
  ended?: boolean;
}

const BAR_WIDTH = 24;
const SHORT_BAR_WIDTH = 10;

/** A bar that stays in its place on a terminal; elsewhere a line now and then, and at each change of the label. */
export class ProgressDisplay {
  private readonly meter = new RateMeter();
  private readonly line: StatusLine;

  constructor(private readonly output: ProgressOutput) {
    this.line = new StatusLine(output);
  }

  show(progress: Progress, nowMs = performance.now()): void {
    this.meter.add({ atMs: nowMs, tasks: progress.completed + progress.failed, bytes: progress.bytes });
    this.line.show(progress.label, progressLine(progress, this.meter, columnsOf(this.output) - 1), nowMs);
  }

  /** Leaves the line as it is; what is written next starts on a new one. */
  end(): void {
    this.line.end();
  }
}

/** Fields of a line in their order; of those that have a rank the highest goes first where there is no room. */
interface Field {
  text: string;
  rank?: number;
}

/**
 * `DOWNLOADING  [██████░░░░░░]  47/100 (47%)  ETA 13 s  1 failed  12.3 MB  4.1 files/s  2.0 MB/s`
 * @param columns which the line keeps to: it loses fields, the most dispensable first
 */
export function progressLine(
  progress: Progress,
  rate: Pick<RateMeter, 'tasksPerSecond' | 'bytesPerSecond' | 'etaMs'>,
  columns = Infinity,
): string {
  const { label, completed, failed, total, bytes, waits, ended } = progress;
  const done = completed + failed;
  const left = total === undefined || ended === true ? 0 : total - done;
  const etaMs = left > 0 ? rate.etaMs(left) : undefined;
  const moves = ended !== true;
  const share = total === undefined ? 0 : total === 0 ? 1 : done / total;
  const fields = (barWidth: number): Field[] => [
    { text: label },
    { text: bar(share, barWidth), rank: 4 },
    { text: total === undefined ? `${done}/?` : `${done}/${total} (${total === 0 ? 100 : Math.floor((done * 100) / total)}%)` },
    ...(waits === undefined ? [] : [{ text: `waits for ${waits}`, rank: 0 }]),
    ...(etaMs === undefined ? [] : [{ text: `ETA ${formatDuration(etaMs)}`, rank: 2 }]),
    ...(failed === 0 ? [] : [{ text: `${failed} failed`, rank: 1 }]),
    { text: formatBytes(bytes), rank: 3 },
    ...(moves && rate.tasksPerSecond > 0 ? [{ text: `${rate.tasksPerSecond.toFixed(1)} files/s`, rank: 6 }] : []),
    ...(moves && rate.bytesPerSecond > 0 ? [{ text: `${formatBytes(rate.bytesPerSecond)}/s`, rank: 5 }] : []),
  ];
  const whole = joined(fields(BAR_WIDTH));
  return widthOf(whole) <= columns ? whole : fitted(fields(SHORT_BAR_WIDTH), columns);
}

function fitted(fields: readonly Field[], columns: number): string {
  const line = joined(fields);
  const last = Math.max(...fields.map(({ rank = -1 }) => rank));
  return widthOf(line) <= columns || last === -1
    ? line
    : fitted(
        fields.filter(({ rank }) => rank !== last),
        columns,
      );
}

function joined(fields: readonly Field[]): string {
  return fields.map(({ text }) => text).join('  ');
}

/** @param share 0..1 */
export function bar(share: number, width = BAR_WIDTH): string {
  const full = Math.floor(Math.min(1, Math.max(0, share)) * width);
  return `[${'█'.repeat(full)}${'░'.repeat(width - full)}]`;
}
