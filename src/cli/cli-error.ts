import { ConfigurationError } from '../config/index.js';
import { AppError, withoutSecrets } from '../shared/index.js';

/** Ends a command with exit code 1. The message is one line for people: the input, the reason, the mend. */
export class CliError extends Error {}

/** The same for what was written on the command line: exit code 2, before anything was sent. */
export class UsageError extends CliError {}

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'TimeoutError',
]);

/** What to tell people instead of a stack trace. */
export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return 'failed for an unknown reason';
  if (error instanceof CliError || error instanceof ConfigurationError) return error.message;
  // Logs must not quote what the SDK says; a person at a terminal needs it.
  if (error instanceof AppError && error.cause instanceof Error) return explainError(error.cause);
  const service = serviceOf(error);
  const reason = withoutSecrets(error.message);
  if (error.name === 'CredentialsProviderUnavailable') return `${reason}: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`;
  if (service === undefined) return reason === '' ? error.name : reason;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  if (UNREACHABLE.has(code))
    return (
      `${service} cannot be reached (${code}): check the network and AWS_REGION, ` +
      `and AWS_ENDPOINT_URL_${service.toUpperCase()} or AWS_ENDPOINT_URL if one is set`
    );
  return `${service} answered ${error.name}: ${reason}`;
}

function serviceOf(error: Error): string | undefined {
  return 'awsService' in error && typeof error.awsService === 'string' ? error.awsService : undefined;
}
