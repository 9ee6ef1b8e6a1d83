/** Fields of a log event: `jobId batchNo taskId coordinatorId attempt` and plain values. Never a token, a body, or a URL with its query. */
export type LogFields = Record<string, unknown>;

/** One event a line. error: a person must act · warn: unusual, handled · info: milestones · debug: each beat. */
export abstract class AppLogger {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(message: string, fields?: LogFields): void;
  abstract warn(message: string, fields?: LogFields): void;
  abstract error(message: string, fields?: LogFields): void;
  /** A logger whose every event carries these fields too. */
  abstract child(fields: LogFields): AppLogger;
}
