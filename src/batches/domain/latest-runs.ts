/** So many runs of jobs are remembered: more than are ever in hand. */
const MAX_RUNS = 1_000;

/** One life of a job. */
export interface JobRun {
  jobId: string;
  run: number;
}

/** What is known of each run of a job, also while none of its batches is in hand. The run that was asked for last is forgotten last. */
export class LatestRuns<T> {
  private readonly known = new Map<string, T>();

  /** What is known of the run, or what `begin` makes of one that is met for the first time. */
  of({ jobId, run }: JobRun, begin: () => T): T {
    const key = `${jobId} ${run}`;
    const value = this.known.get(key) ?? begin();
    this.known.delete(key);
    this.known.set(key, value);
    for (const oldest of this.known.keys()) if (this.known.size > MAX_RUNS) this.known.delete(oldest);
    return value;
  }
}
