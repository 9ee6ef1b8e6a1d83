import type { HealthCheck } from '../../src/platform/index.js';
import type { ExportService } from './export-service.js';

/** What `/health/ready` says: its status, and the checks that are not in order. */
export async function readiness({ url }: ExportService): Promise<{ status: number; checks: HealthCheck[]; failed: HealthCheck[] }> {
  const answer = await fetch(`${url}/health/ready`);
  const { checks } = (await answer.json()) as { checks: HealthCheck[] };
  return { status: answer.status, checks, failed: checks.filter(({ ok }) => !ok) };
}
