import { withoutUndefined } from './without-undefined.js';

/**
 * What the catcher should do:
 * - `retry`: the same call may succeed later
 * - `reject`: the input is at fault; answer its sender, do not try again
 * - `yield`: someone else owns this now; stop and write nothing
 * - `fatal`: this process cannot go on
 */
export type Disposition = 'retry' | 'reject' | 'yield' | 'fatal';

/** The one error class: a stable `code` for programs, a `disposition` for the catcher, a message for people. */
export class AppError extends Error {
  readonly code: string;
  readonly disposition: Disposition;

  constructor(code: string, message: string, options: { disposition: Disposition; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.disposition = options.disposition;
  }
}

/** What was asked for is at fault, and no further try will find it otherwise. */
export function isRejected(error: unknown): error is AppError {
  return error instanceof AppError && error.disposition === 'reject';
}

/** It is someone else's turn: nothing of ours has failed. */
export function isYielded(error: unknown): boolean {
  return error instanceof AppError && error.disposition === 'yield';
}

/** An error reduced to what may be logged: SDK and HTTP errors carry requests, and requests carry tokens. */
export interface LoggableError {
  name: string;
  message: string;
  code?: string;
  /** Of AWS, whose call it was; of the error itself or of what caused it. */
  service?: string;
  /** The call, as AWS names it: `UpdateItem`. */
  operation?: string;
  /** The table, the queue or the bucket. */
  resource?: string;
}

const MAX_MESSAGE = 500;
const MAX_CAUSES = 5;

export function toLoggable(error: unknown): LoggableError {
  if (!(error instanceof Error)) return { name: 'NonError', message: typeof error };
  const code = textOf(error, 'code');
  return {
    name: NAMELESS.has(error.name) ? (code ?? error.name) : error.name,
    message: withoutSecrets(messageOf(error)).slice(0, MAX_MESSAGE),
    ...(code === undefined ? {} : { code }),
    ...awsCallOf(causesOf(error).find(isOfAws)),
  };
}

/**
 * What a log line says of a call that failed and is made again: "DynamoDB UpdateItem on export-jobs failed (InternalServerError); retrying".
 * @param during what the call was for, which stands in for it when it was none of AWS's
 */
export function retryMessage(during: string, error: unknown): string {
  const failed = causesOf(error).find(isOfAws) ?? error;
  const { name, code = name, service, operation, resource } = toLoggable(failed);
  const call = service === undefined ? during : `${service}${operation === undefined ? '' : ` ${operation}`}`;
  return `${call}${resource === undefined ? '' : ` on ${resource}`} failed (${code}); retrying`;
}

/** Client errors of AWS that the same call may not meet again. */
const PASSING = /Throttl|Expired|ProvisionedThroughput|RequestLimit|LimitExceeded|TooManyRequests|SlowDown|Timeout|InProgress|Conflict/;

/**
 * Whether a further try may find it otherwise, with nobody's help: AWS was away or slow, or our own code said so on purpose. What AWS refuses
 * (a permission, a missing table, a request that is wrong) and what nobody threw on purpose need a person.
 */
export function mayPass(error: unknown): boolean {
  const causes = causesOf(error);
  const ofAws = causes.find(isOfAws);
  if (ofAws === undefined) return causes.some((cause) => cause instanceof AppError);
  // A StoreError: what is refused is tried a few times only, and its end is told.
  if (ofAws instanceof AppError) return true;
  const { $metadata } = ofAws as { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode ?? 500;
  return status >= 500 || status === 429 || PASSING.test(ofAws.name);
}

/** The error, what caused it, and so on. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let next = error; next instanceof Error && chain.length < MAX_CAUSES; next = next.cause) chain.push(next);
  return chain;
}

function isOfAws(error: Error): boolean {
  return textOf(error, 'awsService') !== undefined;
}

function awsCallOf(error: Error | undefined): { service?: string; operation?: string; resource?: string } {
  if (error === undefined) return {};
  const call = { service: textOf(error, 'awsService'), operation: textOf(error, 'awsOperation'), resource: textOf(error, 'awsResource') };
  return withoutUndefined<ReturnType<typeof awsCallOf>>(call);
}

/** What Node calls an error of a connection; what it is stands in its code, such as ECONNREFUSED. */
const NAMELESS = new Set(['Error', 'AggregateError']);

/** A host with two addresses that refuse is an AggregateError without a message of its own. */
function messageOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return error.message === '' && first instanceof Error ? first.message : error.message;
}

function textOf(error: Error, field: string): string | undefined {
  const value = (error as unknown as Record<string, unknown>)[field];
  return typeof value === 'string' ? value : undefined;
}

/** URLs lose their query, long opaque runs (tokens, signatures) all but their ends. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/(https?:\/\/[^\s?#"']*)[?#][^\s"']*/gi, '$1').replaceAll(/[A-Za-z0-9+/=_-]{64,}/g, maskToken);
}

/** A task token as it may be shown: first 6 and last 4 characters. */
export function maskToken(token: string): string {
  return token.length <= 10 ? '…' : `${token.slice(0, 6)}…${token.slice(-4)}`;
}

/** A URL as it may be shown: no userinfo, query or fragment. An unparsable one is not shown at all. */
export function maskUrl(url: string): string {
  if (!URL.canParse(url)) return '(invalid URL)';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
