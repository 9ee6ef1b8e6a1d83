import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What a message may hold, as SQS documents it: what XML 1.0 allows. */
const NOT_ALLOWED = String.raw`[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]`;

/**
 * fauxqs refuses every character beyond the basic plane, emoji among them, because it looks at the halves of their surrogate pairs. It has
 * no option for that: its one expression, which all its ways of sending share, is given the meaning that SQS documents.
 * @throws Error when fauxqs does not have it any more: then see whether emoji pass without this
 */
export async function allowAllOfUnicode(): Promise<void> {
  const manifest = findPackageJSON('fauxqs', import.meta.url);
  if (manifest === undefined) throw new Error('fauxqs is not installed');
  const module = pathToFileURL(join(dirname(manifest), 'dist/sqs/sqsTypes.js')).href;
  const { INVALID_MESSAGE_BODY_CHAR: expression } = (await import(module)) as { INVALID_MESSAGE_BODY_CHAR?: RegExp };
  if (expression === undefined) throw new Error('This version of fauxqs tells what a message may hold elsewhere');
  expression.compile(NOT_ALLOWED, 'u');
}
