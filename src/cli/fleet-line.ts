import type { FleetCount } from '../fleet/index.js';
import { explainError } from './cli-error.js';
import type { Services } from './services.js';

/** One sentence on who lives. That the table of the coordinators cannot be read ends no command about jobs. */
export async function fleetLine({ fleet }: Pick<Services, 'fleet'>): Promise<string> {
  try {
    return tellFleet(await fleet.look());
  } catch (error) {
    return `Whether coordinators live is not known: ${explainError(error)}.`;
  }
}

export function tellFleet({ live, silent }: FleetCount): string {
  const silence = silent.length === 0 ? '' : ` (${silent.length} silent)`;
  if (live.length === 0) return `No coordinator lives${silence}: nothing moves until a service runs.`;
  return `${live.length} ${live.length === 1 ? 'coordinator lives' : 'coordinators live'}${silence}.`;
}
