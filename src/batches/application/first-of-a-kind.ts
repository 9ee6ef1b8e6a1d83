/** So many jobs are remembered, and so many kinds of each; past that something may be told again, or not at all. */
const MAX_JOBS = 1_000;
const MAX_KINDS = 100;

/** Remembers which kinds of trouble were told of which run of a job, so that a thousand failures of one kind are one log line. */
export class FirstOfAKind {
  private readonly told = new Map<string, Set<string>>();

  isFirst({ jobId, run }: { jobId: string; run: number }, kind: string): boolean {
    const key = `${jobId} ${run}`;
    const kinds = this.told.get(key) ?? new Set<string>();
    // The job that was heard of last is forgotten last.
    this.told.delete(key);
    this.told.set(key, kinds);
    for (const oldest of this.told.keys()) if (this.told.size > MAX_JOBS) this.told.delete(oldest);
    if (kinds.has(kind) || kinds.size >= MAX_KINDS) return false;
    kinds.add(kind);
    return true;
  }
}
