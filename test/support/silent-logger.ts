import { AppLogger } from '../../src/shared/index.js';

export class SilentLogger extends AppLogger {
  debug(): void {}
  info(): void {}
  warn(): void {}
  error(): void {}
  child(): AppLogger {
    return this;
  }
}
