import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { splitLines, textLines } from '../../../src/shared/index.js';

async function* inChunks(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function split(text: string, size: number, maxBytes?: number): Promise<string[]> {
  const found: string[] = [];
  for await (const lines of splitLines(inChunks(text, size), maxBytes)) found.push(...lines.map((line) => line.toString()));
  return found;
}

describe.each([1, 2, 3, 100])('lines in chunks of %i bytes', (size) => {
  it.each([
    ['end with LF', 'a\nb\n', ['a', 'b']],
    ['end with CRLF', 'a\r\nb\r\n', ['a', 'b']],
    ['need no end behind the last one', 'a\nb', ['a', 'b']],
    ['are kept when they are blank', '\n\r\na\n\n', ['', '', 'a', '']],
    ['do not end with CR alone', 'a\rb\n', ['a\rb']],
    ['do not end with U+2028, U+2029 or U+0085', 'ä\u2028b\u2029c\u0085d\n', ['ä\u2028b\u2029c\u0085d']],
    ['are none in an empty text', '', []],
  ])('%s', async (_what, text, lines) => {
    await expect(split(text, size)).resolves.toEqual(lines);
  });

  it('of our own files come without the blank ones', async () => {
    await expect(Readable.from(textLines(inChunks('\nä\n\r\nb\n', size))).toArray()).resolves.toEqual(['ä', 'b']);
  });

  it('up to the limit are whole, and longer ones are cut to a little more', async () => {
    await expect(split('1234\r\n12345\n12345\r\n12345\r789\n123456789\n1234', size, 4)).resolves.toEqual([
      '1234',
      '12345',
      '12345',
      '12345',
      '123456',
      '1234',
    ]);
  });
});
