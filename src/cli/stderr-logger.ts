import { AppLogger, withoutSecrets, type LogFields } from '../shared/index.js';

/** Standard output belongs to the command's own answer: warnings and errors of the service's parts go to standard error. */
export class StderrLogger extends AppLogger {
  constructor(private readonly own: LogFields = {}) {
    super();
  }

  debug(): void {}

  info(): void {}

  warn(message: string, fields: LogFields = {}): void {
    this.write('warning', message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.write('error', message, fields);
  }

  child(fields: LogFields): AppLogger {
    return new StderrLogger({ ...this.own, ...fields });
  }

  private write(level: string, message: string, fields: LogFields): void {
    process.stderr.write(withoutSecrets(`${level}: ${message} ${JSON.stringify({ ...this.own, ...fields })}\n`));
  }
}
