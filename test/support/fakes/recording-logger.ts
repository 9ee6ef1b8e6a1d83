import { AppLogger, type LogFields } from '../../../src/shared/index.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

export class RecordingLogger extends AppLogger {
  readonly events: { level: Level; message: string; fields: LogFields }[] = [];

  debug(message: string, fields?: LogFields): void {
    this.#record('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#record('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#record('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#record('error', message, fields);
  }

  child(): AppLogger {
    return this;
  }

  messages(level: Level): string[] {
    return this.events.filter((event) => event.level === level).map(({ message }) => message);
  }

  #record(level: Level, message: string, fields: LogFields = {}): void {
    this.events.push({ level, message, fields });
  }
}
