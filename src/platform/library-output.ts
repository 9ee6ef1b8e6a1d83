import { format } from 'node:util';
import { withoutSecrets, type AppLogger } from '../shared/index.js';

const LEVELS = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const;
const MAX_TEXT = 500;

/** What libraries print, and Node's own warnings, become events like any other: a log of JSON lines must hold nothing else. */
export function captureLibraryOutput(logger: AppLogger): void {
  for (const method of ['debug', 'log', 'info', 'warn', 'error'] as const)
    console[method] = (...parts: unknown[]) => logger[LEVELS[method]]('A library says', { text: short(format(...parts)) });
  // Node prints them itself as long as its own listener is there.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => logger.warn('Node warns', { name, text: short(message) }));
}

function short(text: string): string {
  return withoutSecrets(text).slice(0, MAX_TEXT);
}
