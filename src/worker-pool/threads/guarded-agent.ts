import { Agent, buildConnector } from 'undici';
import { notAllowed, type SourceGuard } from './source-guard.js';

const CONNECT_TIMEOUT_MS = 10_000;
const ADDRESS_ATTEMPT_TIMEOUT_MS = 2_500;
export const HEADERS_TIMEOUT_MS = 60_000;

/** Connections to sources, only to where the guard lets them go. HTTP/1.1: one transfer a connection, so that a stall stops one task. */
export function guardedAgent(guard: SourceGuard, connectionsPerHost: number): Agent {
  const connect = buildConnector({
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_TIMEOUT_MS,
    lookup: guard.lookup,
  });
  return new Agent({
    allowH2: false,
    pipelining: 1,
    connections: connectionsPerHost,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // Never fires under back-pressure; SourceBody has a watchdog of its own.
    bodyTimeout: 0,
    // What connect returns lets undici cancel an attempt whose request was aborted.
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) return callback(error, null);
        if (guard.mayConnect(options.hostname, socket.remoteAddress)) return callback(null, socket);
        socket.destroy();
        callback(notAllowed(), null);
      }),
  });
}
