/**
 * The time there is to put things right after a failure, all calls together: a thread whose task has been aborted and does not end
 * within 5 s is itself ended, with all its other tasks.
 */
export class RepairTime {
  private begunAtMs: number | undefined;

  constructor(work: AbortSignal) {
    if (work.aborted) this.begin();
    else work.addEventListener('abort', () => this.begin(), { once: true });
  }

  /** The work has failed; again does nothing. */
  begin(): void {
    this.begunAtMs ??= performance.now();
  }

  /** Ends so long after the failure; while there is none, so long from now. */
  within(ms: number): AbortSignal {
    const nowMs = performance.now();
    return AbortSignal.timeout(Math.max(0, Math.round((this.begunAtMs ?? nowMs) + ms - nowMs)));
  }
}
