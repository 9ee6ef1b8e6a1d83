import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Node measures from one sample to the next, so a loop without any delay shows this. */
const RESOLUTION_MS = 10;
const NS_PER_MS = 1e6;

/** What is asked of Node's histogram, in nanoseconds. */
export interface DelayHistogram {
  percentile(percentile: number): number;
  reset(): void;
}

/**
 * The delay of the main loop in windows: each reading tells what has happened since the former one, so that one bad second does not
 * show for ever. Who reads has an instance of its own: two would halve each other's windows.
 */
export class LoopDelay {
  constructor(private readonly histogram: DelayHistogram = startHistogram()) {}

  /** Milliseconds, in the order asked for; ends the window. */
  read(...percentiles: readonly number[]): number[] {
    const delaysMs = percentiles.map((percentile) => Math.max(0, this.histogram.percentile(percentile) / NS_PER_MS - RESOLUTION_MS));
    this.histogram.reset();
    return delaysMs;
  }
}

function startHistogram(): DelayHistogram {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return histogram;
}
