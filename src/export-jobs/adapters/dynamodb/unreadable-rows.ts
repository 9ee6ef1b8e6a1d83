import { ZodError } from 'zod';
import type { AppLogger, Clock, MonotonicMs } from '../../../shared/index.js';

/** A row that stays as it is shows up in any hour's logs, and in no more than one line of them. */
const AGAIN_AFTER_MS = 3_600_000;
const ISSUES_SHOWN = 5;

/**
 * Says of the rows that a newer version or a hand wrote why they are left alone: once when a row turns up or is wrong in another way, then
 * once an hour. Every turn meets them again, and a newer version may count into them every few seconds: both change nothing.
 */
export class UnreadableRows {
  /** By row, the longest said first. */
  private readonly said = new Map<string, { reason: string; at: MonotonicMs }>();

  constructor(
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  report({ jobId, v: version }: Record<string, unknown>, error: unknown): void {
    const row = String(jobId);
    const issues = issuesOf(error);
    const reason = JSON.stringify([version, issues]);
    const now = this.clock.monotonicMs();
    this.forget(now);
    if (this.said.get(row)?.reason === reason) return;
    this.said.delete(row);
    this.said.set(row, { reason, at: now });
    this.logger.error('A job row cannot be read and is left alone', { jobId: row, version, issues });
  }

  private forget(now: MonotonicMs): void {
    for (const [row, { at }] of this.said) {
      if (now - at < AGAIN_AFTER_MS) return;
      this.said.delete(row);
    }
  }
}

/** Where and how, never what stands there. */
function issuesOf(error: unknown): string[] {
  if (!(error instanceof ZodError)) return [error instanceof Error ? error.name : 'NonError'];
  return error.issues.slice(0, ISSUES_SHOWN).map(({ path, code }) => `${path.join('.')}: ${code}`);
}
