import type { RefusalKind } from './refusal.js';

/** One thing of AWS that the work needs, and how it is asked whether it is there. */
export interface Dependency {
  name: string;
  /** As AWS knows it. */
  resource: string;
  /** @throws what AWS says */
  ask: (signal: AbortSignal) => Promise<void>;
  /** What helps, for each kind of refusal that passes only when someone does something. */
  mends: Readonly<Record<Exclude<RefusalKind, 'away' | 'unsigned'>, string>>;
  /** The permission is for this question only: the work goes on without it. */
  worksDenied?: boolean;
}

/** One line of a health answer. */
export interface HealthCheck {
  name: string;
  ok: boolean;
  /** Also of a check that is ok, where there is something to say. */
  reason?: string;
  resource?: string;
  mend?: string;
}

export interface DependencyCheck extends HealthCheck {
  /** Waiting does not help: it is missing, or we may not use it. */
  lasting: boolean;
}
