import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseS3Uri } from '../domain/s3-uri.js';
import { TransferError } from '../domain/transfer-error.js';
import { sharedLookUps, type Resolve } from './shared-look-ups.js';

/** What jobs may read beyond public addresses, and from which ports (none listed: any). */
export interface SourceAccess {
  readonly sourceBuckets: readonly string[];
  readonly sourceHosts: readonly string[];
  readonly sourceCidrs: readonly string[];
  readonly sourcePorts: readonly number[];
}

/*
 * URLs come from users, and this process can reach what users must not: its own credentials (169.254.170.2), its private network.
 * A name says nothing, so the address is judged, three times: a literal host in the URL (undici looks up only names), every address
 * that a name resolves to (only those that pass are connected to: no second look-up that could answer something else), and the
 * address of the socket once it is connected. Redirects come back here hop by hop. The error never says what was there.
 */
export class SourceGuard {
  private readonly hosts: ReadonlySet<string>;
  private readonly cidrs: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

  /** @param resolve finds the addresses of a name */
  constructor(
    private readonly access: SourceAccess,
    private readonly resolve: Resolve = sharedLookUps(),
  ) {
    this.hosts = new Set(access.sourceHosts.map((host) => bareHost(host.toLowerCase())));
    this.cidrs = access.sourceCidrs.map((cidr) => ipaddr.parseCIDR(cidr));
  }

  /** @throws TransferError `SOURCE_NOT_ALLOWED` unless this http(s) URL may be requested, as far as its text tells. */
  checkUrl(url: URL): void {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw notAllowed('only http, https and s3 sources are allowed');
    if (url.username !== '' || url.password !== '') throw notAllowed('a URL with credentials in it is not allowed');
    const port = Number(url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : url.port);
    if (this.access.sourcePorts.length > 0 && !this.access.sourcePorts.includes(port))
      throw notAllowed('this port is not one of ALLOWED_SOURCE_PORTS');
    const host = bareHost(url.hostname);
    if (isIP(host) !== 0 && !this.mayConnect(host, host)) throw notAllowed();
  }

  /** @throws TransferError `SOURCE_NOT_ALLOWED` unless `s3://bucket/key` is in an allowed bucket and no result of an export. */
  checkS3(uri: string): { bucket: string; key: string } {
    const location = parseS3Uri(uri);
    if (location === undefined) throw new TransferError('URL_INVALID', 'not an s3://bucket/key URI', { retryable: false });
    if (!this.access.sourceBuckets.includes(location.bucket))
      throw notAllowed('this bucket is not an allowed source: add it to ALLOWED_SOURCE_BUCKETS');
    // A destination prefix need not end in a slash: `<prefix>_export/` is wherever it stands.
    if (location.key.includes('_export/')) throw notAllowed('results of exports are not allowed as sources; submit takes their lists');
    return location;
  }

  /** Whether a connection made for `host` may go to `address`. */
  mayConnect(host: string, address: string | undefined): boolean {
    if (this.hosts.has(bareHost(host.toLowerCase()))) return true;
    if (address === undefined || !ipaddr.isValid(address)) return false;
    const ip = ipaddr.parse(address);
    return isPublic(ip) || this.cidrs.some(([range, bits]) => range.kind() === ip.kind() && ip.match(range, bits));
  }

  /** `dns.lookup` that answers with allowed addresses only, for `net.connect`. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const allowed = addresses.filter(({ address }) => this.mayConnect(hostname, address));
      const first = allowed[0];
      if (first === undefined) return callback(notAllowed(), []);
      if (options.all === true) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}

export function notAllowed(
  message = 'this source is at a private or special address: an operator can allow it with ALLOWED_SOURCE_CIDRS or ALLOWED_SOURCE_HOSTS',
): TransferError {
  return new TransferError('SOURCE_NOT_ALLOWED', message, { retryable: false });
}

/** Public and nothing else: of IPv6 only global unicast (2000::/3), so that no form that wraps an IPv4 address passes. */
function isPublic(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (ip.range() !== 'unicast') return false;
  return ip instanceof ipaddr.IPv4 || ip.match(ipaddr.IPv6.parse('2000::'), 3);
}

function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}
