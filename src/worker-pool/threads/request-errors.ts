import { errors } from 'undici';
import { TransferError } from '../domain/transfer-error.js';
import { codeOf } from './connection-errors.js';

const RESETS = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
/** undici says these of an answer that is none: a 1xx that nobody asked for (100, 101), or an answer to no request. */
const UNUSABLE_ANSWERS = new Set(['bad response', 'bad upgrade']);
const NO_HTTP_CODES = new Set([
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_HEADERS_OVERFLOW',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);
/** What Node says of a certificate that it does not trust, beside `CERT_…`. */
const CERTIFICATE_CODES = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
]);

/** No connection came about, and one may in a while: a host that restarts, a route or a name server that is away. */
const UNREACHABLE_CODES = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ETIMEDOUT', 'EAI_AGAIN']);

/** A connection that ended before any answer: it was probably kept alive for too long. */
export function isReset(error: unknown): boolean {
  return RESETS.has(codeOf(error));
}

/**
 * Why a request met no answer. Of the cause only the code is told: its message may hold the address that was tried.
 * @param asked the host that was asked; `isRedirect`: another one, which is not the URL's, led there
 */
export function requestError(error: unknown, { host, isRedirect }: { host: string; isRedirect: boolean }): TransferError {
  if (error instanceof TransferError) return error;
  const code = codeOf(error);
  const passing = (name: string, message: string) =>
    new TransferError(name, message, { retryable: true, cause: error, ...(isRedirect && { failedHost: host }) });
  const lasting = (name: string, message: string) => new TransferError(name, message, { retryable: false, cause: error });
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return passing('CONNECT_TIMEOUT', `no connection to ${host} in time`);
  if (code === 'UND_ERR_INVALID_ARG') return lasting('REQUEST_INVALID', 'the URL or its headers cannot be sent');
  if (code.startsWith('CERT_') || CERTIFICATE_CODES.has(code))
    return lasting('SOURCE_CERTIFICATE', `the certificate of ${host} is not trusted (${code})`);
  if (isNoHttp(error)) return lasting('SOURCE_PROTOCOL', `${host} answered what is no usable HTTP (${code})`);
  if (UNREACHABLE_CODES.has(code)) return passing('SOURCE_UNREACHABLE', `${host} cannot be reached (${code})`);
  if (code === 'ENOTFOUND') return passing('SOURCE_CONNECTION', `there is no host ${host} (${code})`);
  return passing('SOURCE_CONNECTION', `the connection to ${host} failed (${code})`);
}

/** What came is not what HTTP allows: an answer that is none, or a body whose framing is broken. */
export function isNoHttp(error: unknown): boolean {
  if (error instanceof errors.HTTPParserError || NO_HTTP_CODES.has(codeOf(error))) return true;
  return error instanceof errors.SocketError && UNUSABLE_ANSWERS.has(error.message);
}
