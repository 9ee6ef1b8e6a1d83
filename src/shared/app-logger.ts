import { mayPass, retryMessage, toLoggable } from './errors.js';

/** Fields of a log event: `jobId batchNo taskId coordinatorId attempt` and plain values. Never a token, a body, or a URL with its query. */
export type LogFields = Record<string, unknown>;

/** One event a line. error: a person must act · warn: unusual, handled · info: milestones · debug: each beat. */
export abstract class AppLogger {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(message: string, fields?: LogFields): void;
  abstract warn(message: string, fields?: LogFields): void;
  abstract error(message: string, fields?: LogFields): void;

  /**
   * A call has failed and is made again. An outage fails hundreds of calls alike, so of those that read the same the service's logger
   * writes one every 10 s. It is an error
   * where a person must look: what AWS refuses does not pass by itself, and what nobody has thrown on purpose is a mistake in the code.
   * @param during what the call was for
   */
  retrying(during: string, error: unknown, fields: LogFields = {}): void {
    this[mayPass(error) ? 'warn' : 'error'](retryMessage(during, error), { during, ...fields, error: toLoggable(error) });
  }

  /** A logger whose every event carries these fields too. */
  abstract child(fields: LogFields): AppLogger;
}
