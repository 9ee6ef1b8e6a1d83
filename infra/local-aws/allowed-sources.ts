const OWN_CIDRS = ['127.0.0.0/8', '::1/128'];

/** What a caller may open beside this machine, as for a service that is deployed. */
const OTHERS = ['ALLOWED_SOURCE_HOSTS', 'ALLOWED_SOURCE_PORTS', 'ALLOWED_SOURCE_BUCKETS'] as const;

/** The sources of files that services on the embedded AWS may read: this machine's, and what the caller's environment allows. */
export function allowedSources(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const cidrs = (given['ALLOWED_SOURCE_CIDRS'] ?? '').split(',').map((cidr) => cidr.trim());
  const allowed = [...new Set([...OWN_CIDRS, ...cidrs])].filter((cidr) => cidr !== '');
  const others = OTHERS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
  return { ALLOWED_SOURCE_CIDRS: allowed.join(','), ...Object.fromEntries(others) };
}
