import { RESERVED_REQUEST_HEADERS } from '../../shared/index.js';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const VALUE = /^[\t\u0020-\u007E\u0080-\u00FF]*$/;
const MAX_VALUES_CHARS = 8_192;

/** What is wrong with the caller's request headers; undefined when nothing is. Names them, never shows a value. */
export function headersProblem(headers: Readonly<Record<string, string>>): string | undefined {
  let valueChars = 0;
  const names = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name)) return 'holds a name that HTTP does not allow: use letters, digits and hyphens';
    if (RESERVED_REQUEST_HEADERS.has(name.toLowerCase())) return `holds "${name}", which the download sets itself: leave it out`;
    if (!VALUE.test(value))
      return `holds a value of "${name}" that HTTP does not allow: leave out line breaks and encode what is not Latin-1`;
    const same = names.get(name.toLowerCase());
    if (same !== undefined) return `holds "${same}" and "${name}", which are one header: keep one of them`;
    names.set(name.toLowerCase(), name);
    valueChars += value.length;
  }
  return valueChars > MAX_VALUES_CHARS ? `is over ${MAX_VALUES_CHARS} characters of values: shorten it` : undefined;
}
