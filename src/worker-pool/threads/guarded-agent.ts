import { buildConnector, type Agent } from 'undici';
import { DeadlineAgent } from './answer-deadline.js';
import { notAllowed, type SourceGuard } from './source-guard.js';

export interface AgentTimeouts {
  /** Until connected, look-up and all addresses included. */
  connectMs: number;
  /** For each address but the last. */
  addressMs: number;
  /** From the request to the head of its answer. */
  headersMs: number;
}

export const AGENT_TIMEOUTS: AgentTimeouts = { connectMs: 10_000, addressMs: 2_500, headersMs: 60_000 };

/** Connections to sources, only to where the guard lets them go. HTTP/1.1: one transfer a connection, so that a stall stops one task. */
export function guardedAgent(guard: SourceGuard, connectionsPerHost: number, timeouts = AGENT_TIMEOUTS): Agent {
  const connect = buildConnector({
    allowH2: false,
    timeout: timeouts.connectMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: timeouts.addressMs,
    lookup: guard.lookup,
  });
  const options: Agent.Options = {
    allowH2: false,
    pipelining: 1,
    connections: connectionsPerHost,
    // Never fires under back-pressure; SourceBody has a watchdog of its own.
    bodyTimeout: 0,
    // What connect returns lets undici cancel an attempt whose request was aborted.
    connect: (target, callback) =>
      connect(target, (error, socket) => {
        if (error !== null) return callback(error, null);
        if (guard.mayConnect(target.hostname, socket.remoteAddress)) return callback(null, socket);
        socket.destroy();
        callback(notAllowed(), null);
      }),
  };
  return new DeadlineAgent(options, timeouts.headersMs);
}
