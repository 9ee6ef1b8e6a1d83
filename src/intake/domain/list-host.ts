/**
 * Whose server a list is read from, as far as its URI tells: a host, or the bucket of an s3 URI.
 */
export function listHost(uri: string): string {
  return URL.parse(uri)?.hostname.toLowerCase() ?? '';
}
