const MAX_SHOWN_NAME = 60;

/** A name that was sent, to be shown. */
export function shortened(name: string): string {
  return name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
}

/** Case, blanks, hyphens and underscores do not tell two names of columns apart. */
export function plainName(name: string): string {
  return name.replaceAll(/[-_\s]/g, '').toLowerCase();
}
