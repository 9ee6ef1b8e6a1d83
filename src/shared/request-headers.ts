/** All of them in one; of a header that is there more than once, in whatever case, only the last is kept. */
export function mergedHeaders(...sets: Readonly<Record<string, string>>[]): Record<string, string> {
  const byName = new Map<string, [name: string, value: string]>();
  for (const set of sets) for (const [name, value] of Object.entries(set)) byName.set(name.toLowerCase(), [name, value]);
  return Object.fromEntries(byName.values());
}

/** Headers that would undo the download's own framing, checks or target. */
export const RESERVED_REQUEST_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'if-range',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
