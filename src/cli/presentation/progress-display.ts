import { formatBytes, formatDuration } from './format.js';
import { RateMeter } from './rate-meter.js';
import { StatusLine, type ProgressOutput } from './status-line.js';

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
}

const BAR_WIDTH = 24;

/** A bar that stays in its place on a terminal; elsewhere a line now and then, and at each change of the label. */
export class ProgressDisplay {
  private readonly meter = new RateMeter();
  private readonly line: StatusLine;

  constructor(output: ProgressOutput) {
    this.line = new StatusLine(output);
  }

  show(progress: Progress, nowMs = performance.now()): void {
    this.meter.add({ atMs: nowMs, tasks: progress.completed + progress.failed, bytes: progress.bytes });
    this.line.show(progress.label, progressLine(progress, this.meter), nowMs);
  }

  /** Leaves the line as it is; what is written next starts on a new one. */
  end(): void {
    this.line.end();
  }
}

/** `DOWNLOADING  [██████░░░░░░]  47/100 (47%)  ETA 13 s  1 failed  12.3 MB  4.1 files/s  2.0 MB/s`: what matters most is cut last. */
export function progressLine(progress: Progress, rate: Pick<RateMeter, 'tasksPerSecond' | 'bytesPerSecond' | 'etaMs'>): string {
  const { label, completed, failed, total, bytes, waits } = progress;
  const done = completed + failed;
  const left = total === undefined ? 0 : total - done;
  const etaMs = left > 0 ? rate.etaMs(left) : undefined;
  return [
    label,
    bar(total === undefined ? 0 : total === 0 ? 1 : done / total),
    total === undefined ? `${done}/?` : `${done}/${total} (${total === 0 ? 100 : Math.floor((done * 100) / total)}%)`,
    ...(waits === undefined ? [] : [`waits for ${waits}`]),
    ...(etaMs === undefined ? [] : [`ETA ${formatDuration(etaMs)}`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
    formatBytes(bytes),
    ...(rate.tasksPerSecond === 0 ? [] : [`${rate.tasksPerSecond.toFixed(1)} files/s`]),
    ...(rate.bytesPerSecond === 0 ? [] : [`${formatBytes(rate.bytesPerSecond)}/s`]),
  ].join('  ');
}

/** @param share 0..1 */
export function bar(share: number): string {
  const full = Math.floor(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `[${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}]`;
}
