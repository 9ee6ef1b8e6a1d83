/** S3's own limit, in bytes of UTF-8. */
const MAX_KEY_BYTES = 1_024;

/** Leaves room under every prefix for `_export/<jobId>/` and the longest name we put there. */
const MAX_PREFIX_BYTES = 768;

/** Results, segments and the request lie under `<prefix>_export/`: no file may be written over them. */
const RESULTS_SEGMENT = '_export';

const CONTROL_OR_LONE_SURROGATE = /[\p{Cc}\p{Cs}]/u;

/** White space, and what nobody sees; the tags that end the emoji of a flag are seen with it. */
const UNSEEN = String.raw`[\s\p{Z}[\p{Cf}--[\u{E0020}-\u{E007F}]]\u115F\u1160\u2800\u3164\uFFA0]`;
const UNSEEN_START = new RegExp(`^${UNSEEN}`, 'v');
const UNSEEN_END = new RegExp(`${UNSEEN}$`, 'v');

const encoder = new TextEncoder();

export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/** What is wrong with the key of a task, its destination's prefix counted in; undefined when nothing is. */
export function keyProblem(key: string, prefix: string): string | undefined {
  if (key === '') return 'is empty: give the name of the object';
  const problem = pathProblem(key);
  if (problem !== undefined) return problem;
  if (UNSEEN_START.test(key)) return 'begins with white space or an invisible character: leave it out';
  if (UNSEEN_END.test(key)) return 'ends with white space or an invisible character: leave it out';
  if (key.endsWith('/')) return 'ends with "/": give the name of an object, not of a folder';
  const longest = (prefix.length + key.length) * 3;
  if (longest > MAX_KEY_BYTES && utf8Bytes(prefix + key) > MAX_KEY_BYTES)
    return `is over ${MAX_KEY_BYTES} bytes of UTF-8 with the destination's prefix: shorten it`;
  return undefined;
}

/** What is wrong with the prefix of a destination; undefined when nothing is. The empty prefix is the whole bucket. */
export function prefixProblem(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  if (!prefix.endsWith('/')) return 'does not end with "/": add one';
  if (utf8Bytes(prefix) > MAX_PREFIX_BYTES) return `is over ${MAX_PREFIX_BYTES} bytes of UTF-8: shorten it`;
  return pathProblem(prefix);
}

function pathProblem(path: string): string | undefined {
  if (path.startsWith('/')) return 'starts with "/": leave it out';
  if (CONTROL_OR_LONE_SURROGATE.test(path)) return 'contains a control character or half a surrogate pair: leave it out';
  const segments = path.split('/');
  if (path.endsWith('/')) segments.pop();
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'contains an empty, "." or ".." segment: leave it out';
  if (segments.includes(RESULTS_SEGMENT)) return `contains the segment "${RESULTS_SEGMENT}", where results lie: choose another name`;
  return undefined;
}

/** Where a job's objects go when its message names no prefix. */
export function defaultPrefix(jobId: string): string {
  return `exports/${jobId}/`;
}
