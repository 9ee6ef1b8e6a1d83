import type { TaskOutcome } from '../../worker-pool/index.js';
import { HOST_PATIENCE_MS, SILENCE_PATIENCE_MS, type GivenUp } from '../domain/source-host.js';

export type FailedOutcome = Extract<TaskOutcome, { success: false }>;

/** What becomes of a file whose host was given up while the file waited for it. */
export const GIVEN_UP: Readonly<Record<GivenUp, FailedOutcome>> = {
  refuses: unasked(
    'SOURCE_REFUSES',
    `for ${HOST_PATIENCE_MS / 60_000} minutes its host has served nothing and only asked to come back later`,
  ),
  silent: unasked(
    'SOURCE_SILENT',
    `for ${SILENCE_PATIENCE_MS / 60_000} minutes its host has answered nothing at all, or could not be reached`,
  ),
};

function unasked(code: string, message: string): FailedOutcome {
  return { success: false, bytesProcessed: 0, error: { code, message, retryable: true } };
}
