import { MAX_RETRY_AFTER_MS } from './http-response.js';
import type { PatienceWish } from './transfer-task.js';

/** Value of a header by its name in lower case. */
type HeaderOf = (name: string) => string | undefined;

/** With these a host always asks for patience, whether it says for how long or not. */
const ASKS_FOR_PATIENCE = new Set([429, 503]);
const RESET_HEADERS = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset'];
const REMAINING_HEADERS = ['ratelimit-remaining', 'x-ratelimit-remaining', 'x-rate-limit-remaining'];
/** A larger number of seconds is no time span, but a moment since the epoch, in seconds or in milliseconds. */
const EPOCH_FROM = 1e9;
const EPOCH_MS_FROM = 1e12;

/**
 * What an answer asks for. `Retry-After` counts with any status. The headers of a rate limit also come with answers that ask for nothing, so
 * they count with 429, with 503, and with a 403 that says that the limit is used up. A 202 speaks of its file alone, so it names no host.
 */
export function patienceWish(status: number, host: string, headerOf: HeaderOf, nowMs: number): PatienceWish {
  const isLimit = ASKS_FOR_PATIENCE.has(status) || (status === 403 && isLimitUsedUp(headerOf));
  const retryAfterMs = retryAfterMsOf(headerOf('retry-after'), nowMs) ?? (isLimit ? resetMsOf(headerOf, nowMs) : undefined);
  if (retryAfterMs === undefined && !isLimit) return {};
  return { ...(retryAfterMs !== undefined && { retryAfterMs }), ...(status !== 202 && { retryAfterHost: host }) };
}

/** Seconds or a date. Text without a time of day is no date, although `Date.parse` finds one in nearly everything. */
function retryAfterMsOf(value: string | undefined, nowMs: number): number | undefined {
  const seconds = numberOf(value);
  if (seconds !== undefined) return capped(seconds * 1_000);
  return value !== undefined && /\d:\d\d/.test(value) ? capped(Date.parse(value) - nowMs) : undefined;
}

function resetMsOf(headerOf: HeaderOf, nowMs: number): number | undefined {
  const resets = [resetSecondsOf(headerOf('ratelimit')), ...RESET_HEADERS.map((name) => numberOf(headerOf(name)))];
  const reset = resets.find((value) => value !== undefined);
  if (reset === undefined) return undefined;
  if (reset > EPOCH_MS_FROM) return capped(reset - nowMs);
  return capped(reset > EPOCH_FROM ? reset * 1_000 - nowMs : reset * 1_000);
}

function isLimitUsedUp(headerOf: HeaderOf): boolean {
  return (
    REMAINING_HEADERS.some((name) => numberOf(headerOf(name)) === 0) ||
    limitsOf(headerOf('ratelimit')).some(({ remaining }) => remaining === 0)
  );
}

/** The longest wait of the limits that are used up; where none says so, that of the first. */
function resetSecondsOf(rateLimit: string | undefined): number | undefined {
  const limits = limitsOf(rateLimit);
  const usedUp = limits.flatMap(({ remaining, reset }) => (remaining === 0 && reset !== undefined ? [reset] : []));
  return usedUp.length > 0 ? Math.max(...usedUp) : limits[0]?.reset;
}

/** `"default";r=0;t=30, "daily";r=7;t=900`, or `limit=10, remaining=0, reset=30` as the drafts before had it. */
function limitsOf(rateLimit = ''): { remaining: number | undefined; reset: number | undefined }[] {
  const unnamed = rateLimit.replace(/"[^"]*"/g, '');
  const isDictionary = /(?:^|,)\s*(?:limit|remaining|reset)=/.test(unnamed);
  const items = isDictionary ? [unnamed.replaceAll(',', ';')] : unnamed.split(',');
  return items.map((item) => ({ remaining: parameterOf(item, 'r|remaining'), reset: parameterOf(item, 't|reset') }));
}

function parameterOf(item: string, names: string): number | undefined {
  return numberOf(new RegExp(`(?:^|;)\\s*(?:${names})=([^;]*)`).exec(item)?.[1]);
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function capped(waitMs: number): number | undefined {
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}
