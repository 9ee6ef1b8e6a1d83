interface Sample {
  atMs: number;
  tasks: number;
  bytes: number;
}

/** Counts ride the batch heartbeat, so they come in steps of some 10 s: a shorter window would see a rate that jumps. */
const WINDOW_MS = 30_000;

/** The speed of a job over the last half minute; what was before says little about when it will end. */
export class RateMeter {
  private readonly samples: Sample[] = [];

  /** @param atMs on one monotonic clock */
  add(sample: Sample): void {
    this.samples.push(sample);
    while ((this.samples[1]?.atMs ?? Infinity) <= sample.atMs - WINDOW_MS) this.samples.shift();
  }

  get tasksPerSecond(): number {
    return this.perSecond((sample) => sample.tasks);
  }

  get bytesPerSecond(): number {
    return this.perSecond((sample) => sample.bytes);
  }

  /** Milliseconds until `tasks` more are done; undefined while nothing moves. */
  etaMs(tasks: number): number | undefined {
    const rate = this.tasksPerSecond;
    return rate === 0 ? undefined : (tasks / rate) * 1_000;
  }

  private perSecond(of: (sample: Sample) => number): number {
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs === first.atMs) return 0;
    return Math.max(0, ((of(last) - of(first)) * 1_000) / (last.atMs - first.atMs));
  }
}
