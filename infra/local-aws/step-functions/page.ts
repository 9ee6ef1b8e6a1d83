import { ApiError } from './api-error.js';
import { optionalInteger, optionalText, type Fields } from './fields.js';

const DEFAULT_RESULTS = 100;
const MAX_RESULTS = 1_000;

/**
 * One page of a listing. Its token names the last item shown, so that items added at the front between two calls shift nothing.
 * @throws ApiError `InvalidToken`, `ValidationException`
 */
export function pageOf<T>(all: readonly T[], fields: Fields, keyOf: (item: T) => string): { items: T[]; nextToken?: string } {
  const limit = optionalInteger(fields, 'maxResults', MAX_RESULTS) || DEFAULT_RESULTS;
  const token = optionalText(fields, 'nextToken', { min: 1, max: 1_024 });
  const start = token === undefined ? 0 : all.findIndex((item) => tokenOf(keyOf(item)) === token) + 1;
  if (token !== undefined && start === 0) throw new ApiError('InvalidToken', `Invalid Token: 'Invalid token'`);
  const items = all.slice(start, start + limit);
  const last = items.at(-1);
  return start + limit < all.length && last !== undefined ? { items, nextToken: tokenOf(keyOf(last)) } : { items };
}

function tokenOf(key: string): string {
  return Buffer.from(key).toString('base64url');
}
