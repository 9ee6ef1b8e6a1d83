/** How the reader has called us, for hints: the command itself is on no PATH in a checkout. */
export const COMMAND = process.env.npm_lifecycle_event === 'cli' ? 'npm run cli --' : 'export-worker';

export function detachedFrom(jobId: string): string {
  return `Detached; the job goes on. Follow it again: ${COMMAND} watch ${jobId}`;
}
