import { withoutSecrets } from '../../../shared/index.js';

const MAX_SHOWN_NAME = 60;

/** A name that was sent, to be shown: what stands in its place may be a URL. */
export function shortened(name: string): string {
  const safe = withoutSecrets(name);
  return safe.length > MAX_SHOWN_NAME ? `${safe.slice(0, MAX_SHOWN_NAME)}…` : safe;
}

/** Case, blanks, hyphens and underscores do not tell two names of columns apart. */
export function plainName(name: string): string {
  return name.replaceAll(/[-_\s]/g, '').toLowerCase();
}
