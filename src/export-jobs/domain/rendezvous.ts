import { hash32 } from '../../shared/index.js';

/** Highest-random-weight hashing: each job has one owner among the living, found without any lock. */
export function ownerOf(jobId: string, coordinators: readonly string[]): string | undefined {
  let owner: string | undefined;
  let best = -1;
  for (const coordinator of coordinators) {
    const weight = hash32(`${coordinator}\n${jobId}`);
    if (weight > best || (weight === best && owner !== undefined && coordinator < owner)) {
      best = weight;
      owner = coordinator;
    }
  }
  return owner;
}
