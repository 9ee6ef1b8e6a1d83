import { LatestRuns, type JobRun } from '../domain/latest-runs.js';

/** So many kinds are remembered of a run; past that none is told. */
const MAX_KINDS = 100;

/** Remembers which kinds of trouble were told of which run of a job, so that a thousand failures of one kind are one log line. */
export class FirstOfAKind {
  private readonly told = new LatestRuns<Set<string>>();

  isFirst(run: JobRun, kind: string): boolean {
    const kinds = this.told.of(run, () => new Set());
    if (kinds.has(kind) || kinds.size >= MAX_KINDS) return false;
    kinds.add(kind);
    return true;
  }
}
