/** How people call us, for hints: in a checkout, and where the package is installed. */
export const COMMAND = 'npx export-worker';

export function detachedFrom(jobId: string): string {
  return `Detached; the job goes on. Follow it again: ${COMMAND} watch ${jobId}`;
}
