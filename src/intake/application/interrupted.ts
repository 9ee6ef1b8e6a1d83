import { AppError } from '../../shared/index.js';

/**
 * The expansion's signal was aborted: by a shutdown, by the loss of its message, or because its job
 * is over.
 */
export function interrupted(): AppError {
  return new AppError('EXPANSION_INTERRUPTED', 'The expansion was interrupted and goes on elsewhere', { disposition: 'yield' });
}
