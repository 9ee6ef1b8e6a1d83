import type { ExportJobEntity } from '../export-jobs/index.js';
import { CliError } from './cli-error.js';
import { noSuchJob, SHORTEST_BEGINNING } from './job-view.js';
import type { Services } from './services.js';

const SHOWN = 5;
const BEGINNING = /^[0-9a-f]{1,8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,11})?$/;
const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The job of that id, or else the only one whose id begins so, ended ones among them; names do not count.
 * @throws CliError when several begin so
 */
export async function findJob(jobs: Services['jobs'], id: string): Promise<ExportJobEntity | undefined> {
  const job = await jobs.find(id);
  if (job !== undefined || !mayBeBeginning(id)) return job;
  const ids: string[] = [];
  for await (const page of jobs.scan({ idPrefix: id })) ids.push(...page.map(({ jobId }) => jobId).filter((jobId) => WHOLE_ID.test(jobId)));
  const [only = ''] = ids;
  if (ids.length <= 1) return ids.length === 0 ? undefined : jobs.find(only);
  const shown = ids.slice(0, SHOWN).join(', ');
  throw new CliError(`The ids of ${ids.length} jobs begin with ${id}: give more of it (${shown}${ids.length > SHOWN ? ', …' : ''})`);
}

/** @throws CliError when there is none, or several begin so */
export async function knownJob(jobs: Services['jobs'], id: string): Promise<ExportJobEntity> {
  const job = await findJob(jobs, id);
  if (job === undefined) throw new CliError(noSuchJob(id));
  return job;
}

/**
 * Only of an id that the service made up: a name that somebody gave may be the beginning of another one (`export-1`, `export-12`), and the
 * job that is meant may not be there yet.
 */
export function mayBeBeginning(id: string): boolean {
  return id.length >= SHORTEST_BEGINNING && BEGINNING.test(id) && !WHOLE_ID.test(id);
}
