/**
 * Whom a URL asks: `name:port`, without the port where it is https' own, 443. Two ports of a name are two servers, of which one may be
 * down, or busy, while the other serves.
 */
export function hostOf({ protocol, hostname, port }: URL): string {
  const at = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return `${hostname.toLowerCase()}${at === '443' ? '' : `:${at}`}`;
}
