/** What a jobId may be: what Step Functions takes for the name of an execution, and a key of S3 without escapes. */
export const JOB_ID = /^(?!\.{1,2}$)[A-Za-z0-9._+!@='()-]{1,128}$/;

export function newId(): string {
  return crypto.randomUUID();
}

const encoder = new TextEncoder();

/** SHA-256 of the UTF-8 text as lower-case hex. */
export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** FNV-1a with a final avalanche, as an unsigned 32-bit number: spreads ids over shards and slots, never for security. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** JSON with object keys in one order at every level, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
