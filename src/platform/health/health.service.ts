import type { AppLogger, Clock, MonotonicMs } from '../../shared/index.js';
import type { HealthCheck } from './dependency.js';
import { NOT_ASKED, type DependencyChecks } from './dependency-checks.js';

/** Answers are reused this long, so that a probe's rhythm does not become load. */
const REUSE_MS = 5_000;
/** Who asks waits for a few seconds only: Kubernetes for one, a load balancer for five. */
const PROBE_LIMIT_MS = 2_000;

/** What the loops say of themselves, and whether what the work needs of AWS is there. */
export class HealthService {
  private readonly loops = new Map<string, () => string | undefined>();
  private cached: { at: MonotonicMs; checks: Promise<HealthCheck[]> } | undefined;
  /** What was said last of each dependency that cannot be used. */
  private readonly told = new Map<string, string | undefined>();

  constructor(
    private readonly checks: DependencyChecks,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** `problem` answers what is wrong with the loop, or `undefined`. */
  watchLoop(name: string, problem: () => string | undefined): void {
    this.loops.set(name, problem);
  }

  live(): HealthCheck[] {
    return [...this.loops].map(([name, problem]) => {
      const reason = problem();
      return reason === undefined ? { name, ok: true } : { name, ok: false, reason };
    });
  }

  dependencies(): Promise<HealthCheck[]> {
    const now = this.clock.monotonicMs();
    if (this.cached === undefined || now - this.cached.at > REUSE_MS) this.cached = { at: now, checks: this.ask() };
    return this.cached.checks;
  }

  private async ask(): Promise<HealthCheck[]> {
    const checks = (await this.checks.ask(PROBE_LIMIT_MS)).map(({ lasting: _lasting, ...check }): HealthCheck => check);
    for (const check of checks) this.tell(check);
    return checks;
  }

  /** Once for each change, not for each probe. */
  private tell({ name, ok, ...said }: HealthCheck): void {
    if (said.reason === NOT_ASKED) return;
    if (ok) {
      if (this.told.delete(name)) this.logger.info('A dependency can be used again', { dependency: name });
      return;
    }
    // Numbers in a reason count down.
    const kind = said.reason?.replaceAll(/\d+/g, '');
    if (!this.told.has(name) || this.told.get(name) !== kind) {
      this.told.set(name, kind);
      this.logger.warn('A dependency cannot be used', { dependency: name, ...said });
    }
  }
}
