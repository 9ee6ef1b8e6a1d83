import { Injectable } from '@nestjs/common';
import { pino, type Logger } from 'pino';
import { AppLogger, retryMessage, withoutSecrets, type Clock, type LogFields } from '../shared/index.js';
import { EqualLines } from './equal-lines.js';

/** Fields that never reach a log, whoever passes them. */
const SECRET_FIELDS = ['taskToken', 'token', 'headers', 'authorization', 'body', 'receiptHandle', 'cookie'];

/** pino JSON, one event a line, on standard output. */
@Injectable()
export class PinoLoggerService extends AppLogger {
  private constructor(
    private readonly logger: Logger,
    private readonly equalLines: EqualLines,
  ) {
    super();
  }

  static create(settings: { level: string; coordinatorId: string }, clock: Clock): PinoLoggerService {
    return new PinoLoggerService(
      pino({
        level: settings.level,
        base: { coordinatorId: settings.coordinatorId },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
      }),
      new EqualLines(clock),
    );
  }

  debug(message: string, fields: LogFields = {}): void {
    this.logger.debug(fields, message);
  }

  info(message: string, fields: LogFields = {}): void {
    this.logger.info(fields, message);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.logger.warn(fields, message);
  }

  error(message: string, fields: LogFields = {}): void {
    this.logger.error(fields, message);
  }

  /** `heldBack`: so many that read the same were not written since the last one was. */
  override retrying(during: string, error: unknown, fields: LogFields = {}): void {
    const heldBack = this.equalLines.pass(retryMessage(during, error));
    if (heldBack !== undefined) super.retrying(during, error, heldBack === 0 ? fields : { ...fields, heldBack });
  }

  child(fields: LogFields): AppLogger {
    return new PinoLoggerService(this.logger.child(fields), this.equalLines);
  }
}

/** Nest's own messages, as events like any other. */
export class NestLogger {
  constructor(private readonly logger: AppLogger) {}

  log(message: unknown, context?: string): void {
    this.logger.debug(text(message), { context });
  }

  warn(message: unknown, context?: string): void {
    this.logger.warn(text(message), { context });
  }

  error(message: unknown, _stack?: string, context?: string): void {
    this.logger.error(text(message), { context });
  }
}

function text(message: unknown): string {
  return withoutSecrets(message instanceof Error ? message.message : String(message));
}
