import { AppError } from '../../shared/index.js';
import { DESTINATION_MISSING } from '../application/accept-job.use-case.js';
import { ManifestError } from './manifest/index.js';

/** The first says what is wrong as a whole; each of the others names a line. */
export function manifestReasons({ code, message, cause }: AppError): string[] {
  if (code === DESTINATION_MISSING) return [message];
  if (cause instanceof ManifestError) return [cause.message, ...cause.problems.map(({ line, reason }) => `line ${line}: ${reason}`)];
  if (cause instanceof AppError) return [`The manifest cannot be read (${cause.code}): ${cause.message}`];
  return ['The manifest cannot be read'];
}
