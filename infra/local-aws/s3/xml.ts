import { s3Error } from './errors.js';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const CHARACTERS: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function escapeText(text: string): string {
  // Control characters as references, as S3 does: an XML reader would drop or normalise them.
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[&<>"\u0000-\u001f]/g, (character) => ENTITIES[character] ?? `&#${character.charCodeAt(0)};`);
}

function unescapeText(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number.parseInt(decimal, 10));
    return CHARACTERS[name ?? ''] ?? whole;
  });
}

/** `<name>text</name>`, or nothing where the value is undefined. */
export function leaf(name: string, value: string | number | boolean | undefined): string {
  return value === undefined ? '' : `<${name}>${escapeText(String(value))}</${name}>`;
}

export function node(name: string, ...children: string[]): string {
  return `<${name}>${children.join('')}</${name}>`;
}

/** An answer's document in S3's namespace. */
export function s3Document(name: string, ...children: string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${children.join('')}</${name}>`;
}

/** Content of the document's root element. @throws MalformedXML when there is another root, or none. */
export function rootContent(xml: string, name: string): string {
  const match = new RegExp(`^\\s*(?:<\\?xml[^>]*\\?>)?\\s*<${name}(?:\\s[^>]*)?>(.*)</${name}>\\s*$`, 's').exec(xml);
  if (match?.[1] === undefined) throw s3Error('MalformedXML');
  return match[1];
}

/** Raw content of each element of that name; S3's request documents never nest an element in one of its own name. */
export function contentsOf(xml: string, name: string): string[] {
  return Array.from(xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>(.*?)</${name}>`, 'gs')), (match) => match[1] ?? '');
}

/** Text of the first element of that name. */
export function textOf(xml: string, name: string): string | undefined {
  const content = contentsOf(xml, name)[0];
  return content === undefined ? undefined : unescapeText(content);
}
