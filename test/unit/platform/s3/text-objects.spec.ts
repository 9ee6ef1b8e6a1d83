import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from '@jest/globals';
import { readLines } from '../../../../src/platform/s3/index.js';

const AT = { bucket: 'exports', key: 'segment.jsonl' };
/** Valid in keys and URLs; `JSON.stringify` leaves both as they are, and many a reader of lines ends a line at them. */
const ODD = { url: 'https://host/a\u2028b', key: 'a\u2028b\u2029cä.pdf' };

/** The real client class, its one answer given by the test. */
function clientAnswering(Body: unknown): S3Client {
  return Object.assign(new S3Client({ region: 'eu-west-1' }), { send: () => Promise.resolve({ Body }) });
}

const inChunks = (text: string, size: number) => {
  const bytes = Buffer.from(text);
  return Readable.from(Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size)));
};

const read = (body: unknown, signal?: AbortSignal) => Readable.from(readLines(clientAnswering(body), AT, signal)).toArray();

describe('readLines', () => {
  it.each([1, 7, 65_536])('ends a line at LF and CRLF only, also in chunks of %i bytes', async (size) => {
    const line = JSON.stringify(ODD);
    await expect(read(inChunks(`${line}\n\n${line}\r\n${line}`, size))).resolves.toEqual([line, line, line]);
  });

  it('finds no line in an empty object', async () => {
    await expect(read(Readable.from([]))).resolves.toEqual([]);
  });

  it('takes a cut body for no short one', async () => {
    const cut = Readable.from(
      (function* () {
        yield Buffer.from('{"a":1}\n{"b"');
        throw new Error('cut');
      })(),
    );
    await expect(read(cut)).rejects.toThrow('cut');
  });

  it('lets the body go when its reader stops', async () => {
    const body = inChunks('1\n2\n3\n', 2);
    for await (const line of readLines(clientAnswering(body), AT)) if (line === '1') break;
    expect(body.destroyed).toBe(true);
  });

  it('ends with its signal, however long the body keeps silent', async () => {
    const stopping = new AbortController();
    const body = new Readable({ read: () => undefined });
    const reading = read(body, stopping.signal);
    stopping.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    expect(body.destroyed).toBe(true);
  });

  it('refuses an object without a body', async () => {
    await expect(read(undefined)).rejects.toThrow('s3://exports/segment.jsonl has no body');
  });
});
