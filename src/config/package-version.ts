import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** Of the package that runs, as it was built. */
export function packageVersion(): string {
  const path = findPackageJSON(import.meta.url);
  return path === undefined ? 'unknown' : (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
