import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import {
  ManifestError,
  readManifest,
  type ReadManifestOptions,
  type RepeatedTasks,
} from '../../../../../src/intake/adapters/manifest/index.js';
import type { ManifestFormat } from '../../../../../src/intake/domain/export-request.js';
import type { ManifestTask } from '../../../../../src/intake/domain/manifest-task.js';
import { AppError } from '../../../../../src/shared/index.js';
import { aManifestReading } from '../../../../support/manifest-reading.js';

interface Reading extends Partial<ReadManifestOptions> {
  /** Bytes a chunk: 1 puts every boundary everywhere. */
  chunk?: number;
}

function chunked(content: string | Buffer, size: number): Readable {
  const bytes = Buffer.from(content);
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
  );
}

async function read(content: string | Buffer, { chunk = 65_536, ...options }: Reading = {}) {
  const tasks: ManifestTask[] = [];
  for await (const some of readManifest(async () => chunked(content, chunk), aManifestReading(options))) tasks.push(...some);
  return tasks;
}

async function problemsOf(content: string | Buffer, reading?: Reading): Promise<string[]> {
  const error = await errorOf(content, reading);
  return error.problems.map(({ line, reason }) => `${line}: ${reason}`);
}

async function errorOf(content: string | Buffer, reading?: Reading): Promise<ManifestError> {
  const outcome = await read(content, reading).catch((error: unknown) => error);
  if (!(outcome instanceof ManifestError)) throw new Error('no ManifestError', { cause: outcome });
  return outcome;
}

const COMMENTED = 'the line is a comment, and reads like the header of the list: remove its #, or else the line';
const MD5_HEX = 'd41d8cd98f00b204e9800998ecf8427e';
const MD5_BASE64 = '1B2M2Y8AsgTpgAmY7PhCfg==';
const ENTRIES = [
  { url: 'https://host/ä.pdf?sig=1,2', key: 'a/ä b.pdf', size: 12, checksum: { algorithm: 'md5', value: MD5_HEX } },
  { url: 'https://host/c.pdf', key: 'c.pdf' },
];
/** `JSON.stringify` leaves both separators as they are. */
const SEPARATED = { url: 'https://host/a\u2028b.pdf', key: 'a\u2028b\u2029c.pdf' };
const JSONL = ENTRIES.map((entry) => JSON.stringify(entry)).join('\n');
const CSV = `url,key,size,md5\n"https://host/ä.pdf?sig=1,2",a/ä b.pdf,12,${MD5_BASE64}\nhttps://host/c.pdf,,,`;
const TSV = `TsvHttpData-1.0\nhttps://host/a.pdf\t12\t${MD5_BASE64}\nhttps://host/c.pdf\nhttps://host/d.pdf\t7`;
const TSV_TASKS = [
  { url: 'https://host/a.pdf', key: 'a.pdf', size: 12, checksum: { algorithm: 'md5', value: MD5_HEX } },
  { url: 'https://host/c.pdf', key: 'c.pdf' },
  { url: 'https://host/d.pdf', key: 'd.pdf', size: 7 },
];

const MANIFESTS: [name: string, format: ManifestFormat | undefined, content: string, tasks: object[]][] = [
  ['JSONL', 'jsonl', JSONL, ENTRIES],
  ['JSONL with blank lines', 'jsonl', `\n${JSONL.replace('\n', '\n\n  \n')}\n\n`, ENTRIES],
  [
    'JSONL with characters that only look like the end of a line',
    'jsonl',
    `${JSON.stringify(SEPARATED)}\n${JSONL}`,
    [SEPARATED, ...ENTRIES],
  ],
  ['JSONL with names in another case', 'jsonl', JSONL.replaceAll('"url"', '"URL"').replaceAll('"key"', '"Key"'), ENTRIES],
  ['JSON with names in another case', 'json', JSON.stringify(ENTRIES).replaceAll('"url"', '"URL"'), ENTRIES],
  [
    'JSON whose texts look like names',
    'jsonl',
    String.raw`{"url":"https://host/a","key":"a\"b\":c"}`,
    [{ url: 'https://host/a', key: 'a"b":c' }],
  ],
  ['JSONL with a comma after its lines', 'jsonl', JSONL.replaceAll('\n', ' ,\n'), ENTRIES],
  [
    'JSON with null for absent',
    'json',
    JSON.stringify(ENTRIES.map((entry) => ({ headers: null, size: null, checksum: null, ...entry }))),
    ENTRIES,
  ],
  ['a JSON array on one line', 'json', JSON.stringify(ENTRIES), ENTRIES],
  ['a JSON array on many lines', 'json', ` \n${JSON.stringify(ENTRIES, null, 2)}\n`, ENTRIES],
  ['CSV with a header', 'csv', CSV, ENTRIES],
  [
    'CSV with its columns in another order and case',
    'csv',
    `MD5, Key ,URL\n"${MD5_HEX}",k,https://host/x\n`,
    [{ url: 'https://host/x', key: 'k', checksum: { algorithm: 'md5', value: MD5_HEX } }],
  ],
  ['TsvHttpData-1.0', 'tsv-http-data', TSV, TSV_TASKS],
  [
    'a plain list',
    undefined,
    '# mine, "too"\n\n  https://host/a.pdf  \nhttps://host/b.pdf?x=1\n#https://host/no\n',
    [
      { url: 'https://host/a.pdf', key: 'a.pdf' },
      { url: 'https://host/b.pdf?x=1', key: 'b.pdf' },
    ],
  ],
];

describe('readManifest', () => {
  for (const [name, format, content, tasks] of MANIFESTS) {
    it(`reads ${name}, named or sniffed`, async () => {
      expect(await read(content, format === undefined ? {} : { format })).toEqual(tasks);
      expect(await read(content)).toEqual(tasks);
    });

    it(`reads ${name} with a byte order mark, CRLF and gzip, and in chunks of any size`, async () => {
      const dressed = `\u{FEFF}${content.replaceAll('\n', '\r\n')}`;
      expect(await read(dressed)).toEqual(tasks);
      expect(await read(gzipSync(dressed))).toEqual(tasks);
      expect(await read(dressed, { chunk: 1 })).toEqual(tasks);
      expect(await read(gzipSync(dressed), { chunk: 1 })).toEqual(tasks);
    });
  }

  it('reads gzip of several members, cut anywhere between two lines or in one', async () => {
    for (const at of [1, JSONL.indexOf('\n'), JSONL.indexOf('\n') + 1, JSONL.length - 1]) {
      const members = Buffer.concat([gzipSync(JSONL.slice(0, at)), gzipSync(''), gzipSync(JSONL.slice(at))]);
      expect(await read(members)).toEqual(ENTRIES);
      expect(await read(members, { chunk: 1 })).toEqual(ENTRIES);
    }
    const cut = Buffer.concat([gzipSync(`${JSONL}\n`), gzipSync(JSONL.replaceAll('host', 'other')).subarray(0, -3)]);
    expect(await problemsOf(cut)).toEqual([expect.stringContaining('the gzip data is broken')]);
  });

  it.each(['', '\n\n', '[]', 'url,key\n', 'TsvHttpData-1.0\n', '# nothing yet\n', 'sep=;\n', gzipSync('')])(
    'refuses %j, which has no file, unless that is in order',
    async (content) => {
      expect(await problemsOf(content)).toEqual([expect.stringMatching(/^1: the list has no file: .* --allow-empty\)$/)]);
      expect(await read(content, { allowEmpty: true })).toEqual([]);
    },
  );

  it.each(['utf16le', 'utf16be'] as const)('reads %s with a byte order mark, in chunks of any size', async (encoding) => {
    const bytes = Buffer.from(`\u{FEFF}url,key\nhttps://host/a,ä🎉.pdf\n`, 'utf16le');
    if (encoding === 'utf16be') bytes.swap16();
    for (const chunk of [1, 3, 65_536]) expect(await read(bytes, { chunk })).toEqual([{ url: 'https://host/a', key: 'ä🎉.pdf' }]);
    expect(await problemsOf(bytes.subarray(0, -1))).toEqual([expect.stringContaining('the text is no UTF-16 here or soon after')]);
  });

  it('ends a line at CR, LF and CRLF, and counts them as an editor does', async () => {
    const content = 'https://host/a\rhttps://host/b\r\nhttps://host/c\n\rx';
    for (const chunk of [1, 2, 3, 65_536]) {
      expect(await problemsOf(content, { chunk })).toEqual([expect.stringMatching(/^5: url/)]);
      expect((await read(content.slice(0, -1), { chunk })).map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    }
  });

  it('yields at most 1,000 tasks at a time, in order', async () => {
    const lines = Array.from({ length: 2_500 }, (_, index) => `https://host/${index}`).join('\n');
    const sizes: number[] = [];
    const urls: string[] = [];
    for await (const tasks of readManifest(async () => chunked(lines, 65_536), aManifestReading())) {
      sizes.push(tasks.length);
      urls.push(...tasks.map(({ url }) => url));
    }
    expect(Math.max(...sizes)).toBe(1_000);
    expect(urls.join('\n')).toBe(lines);
  });

  it('never reads far ahead of its consumer, and lets the source go when the consumer stops', async () => {
    let produced = 0;
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.from(`https://host/${produced++}\n`.padEnd(1_024, ' ').concat('\n'));
      })(),
    );
    const reading = readManifest(async () => endless, aManifestReading());
    await reading.next();
    expect(produced).toBeLessThan(2_000);
    await reading.return(undefined);
    expect(endless.destroyed).toBe(true);
  });
});

describe('One line never decides a format', () => {
  const DOUBT =
    'the line may be one URL, or a URL and a name with a separator between, and nothing tells which: name the format, list or csv';
  const fileOf = (url: string, key: string) => ({ url, key });

  it.each([
    ['https://h/w_200,h_300/a.jpg\nhttps://h/b.jpg', 1],
    ['https://h/a.pdf\nhttps://h/b,docs/b.pdf', 2],
    ['https://h/full/300,/0/default.jpg', 1],
    ['https://h/map?bbox=1,2,3,4', 1],
    ['# mine\nhttps://h/a.pdf\n"https://h/b,c",docs/b.pdf', 3],
    ['https://h/a.pdf;docs/a.pdf', 1],
    ['https://h/a.pdf\tdocs/a.pdf', 1],
    [`${'https://h/a.pdf\n'.repeat(10_000)}https://h/b,docs/b.pdf\nhttps://h/c,docs/c.pdf`, 10_001],
  ])('%#: a list that may be read in two ways is refused once, with the way to name it', async (content, line) => {
    for (const chunk of [7, 65_536])
      expect(await problemsOf(content, { chunk })).toEqual([
        `${line}: ${DOUBT} (source.format, or --format), or begin the list with a header like url,key`,
      ]);
  });

  it('is read as it is named', async () => {
    const content = '# mine\nhttps://h/w_200,h_300/a.jpg\nhttps://h/b.jpg\n';
    expect(await read(content, { format: 'list' })).toEqual([
      fileOf('https://h/w_200,h_300/a.jpg', 'a.jpg'),
      fileOf('https://h/b.jpg', 'b.jpg'),
    ]);
    expect(await read(content, { format: 'csv' })).toEqual([fileOf('https://h/w_200', 'h_300/a.jpg'), fileOf('https://h/b.jpg', 'b.jpg')]);
    expect(await read('https://host/a\n# the "second one\n"https://host/b,c", z ,,\n', { format: 'csv' })).toEqual([
      fileOf('https://host/a', 'a'),
      fileOf('https://host/b,c', 'z'),
    ]);
    expect(await read('sep=;\nhttps://host/a,1;z\n')).toEqual([fileOf('https://host/a,1', 'z')]);
  });
});

describe('a manifest with problems', () => {
  it.each<[string, Reading, string[]]>([
    [
      '{"url":"https://host/a"}\n{"url":\n{"url":"x"}',
      {},
      ['2: the line is not JSON: write one object a line', '3: url is no absolute URL: give an http, https or s3 URL'],
    ],
    [
      '{"url":"https://host/a","sise":1}',
      {},
      ['1: the entry has unknown keys (sise): correct or remove them, or name them in ignoreColumns (--ignore-columns)'],
    ],
    [
      '{"url":"https://host/a","checksum":{"algoritm":"md5","value":"x"}}',
      {},
      ['1: checksum has unknown keys (algoritm): correct or remove them'],
    ],
    ['{"url":"https://host/a","key":"a "}', {}, ['1: key ends with white space or an invisible character: leave it out']],
    ['https://host/%20a.pdf', {}, ['1: key (from the URL) begins with white space or an invisible character: leave it out, or give a key']],
    [
      '{"key":"a"}\n7',
      { format: 'jsonl' },
      ['1: url is missing: add it (string)', '2: the entry has the wrong type: it must be an object like {"url": "https://…"}'],
    ],
    ['{"url":"https://host/a","key":"b/../c"}', {}, ['1: key contains an empty, "." or ".." segment: leave it out']],
    ['[{"url":"https://host/a"},\n\n{"url":"x"}]', {}, ['3: element 2: url is no absolute URL: give an http, https or s3 URL']],
    ['[{"url":"https://host/a"}', {}, ['1: the JSON array does not end: the manifest is cut short']],
    ['[{"url":"https://host/a"},\n,{}]', {}, ['2: the JSON is broken here: correct it']],
    ['[{"url":"https://host/a"}]\nx', {}, ['2: the JSON is broken here: correct it']],
    ['[{"url":"https://host/a"},]', {}, ['1: the JSON is broken here: remove the comma before the bracket that closes']],
    ['[{"url":"https://host/a"},\n\n]', {}, ['3: the JSON is broken here: remove the comma before the bracket that closes']],
    ['[{"url":"https://host/a",}]', {}, ['1: the JSON is broken here: remove the comma before the bracket that closes']],
    [
      '{"url":"https://host/a"}\n{"url":"https://host/b","url":"https://host/c"}\n{"url":"https://host/d","checksum":{"value":"x","value":"y"}}',
      {},
      ['2: the entry has "url" twice: keep one of them', '3: the entry has "value" twice: keep one of them'],
    ],
    [
      '[{"url":"https://host/a"},{"url":"https://host/b","key":"b","key":"c"}]',
      {},
      ['1: element 2: the entry has "key" twice: keep one of them'],
    ],
    [
      '{"url":"https://host/a","URL":"https://host/b"}',
      {},
      ['1: the entry has unknown keys (URL): correct or remove them, or name them in ignoreColumns (--ignore-columns)'],
    ],
    ['# url,key\nhttps://host/a,b', {}, [`1: ${COMMENTED}`]],
    ['# mine\n#url;size\nhttps://host/a;1', {}, [`2: ${COMMENTED}`]],
    ['#key,url\nhttps://host/a,b', { format: 'csv' }, [`1: ${COMMENTED}`]],
    [
      `url,"a,b",it's\nhttps://host/a,1,2`,
      {},
      [expect.stringContaining(String.raw`ignoreColumns ["a,b","it's"], or --ignore-columns '["a,b","it'\''s"]'`) as unknown as string],
    ],
    [
      `url,${'n'.repeat(61)}\nhttps://host/a,1`,
      {},
      [expect.stringContaining('take the list with them: ignoreColumns, or --ignore-columns, with their whole names') as unknown as string],
    ],
    ['{"url":"https://host/a"}', { format: 'json' }, ['1: the manifest is no JSON array: start it with "["']],
    ['', { format: 'json' }, ['1: the JSON array does not end: the manifest is cut short']],
    [
      'url,size\nhttps://host/a,1,2\nhttps://host/b,x\nhttps://host/c',
      {},
      [
        '2: the line has 3 fields, the header 2: quote a field that contains a separator',
        '3: size is no whole number of bytes: give one, or leave it empty',
        '4: the line has 1 field, the header 2: quote a field that contains a separator',
      ],
    ],
    [
      'url,sha265,,My Id\nhttps://host/a,1,,2',
      {},
      [
        '1: the header has columns that are not ours (sha265, column 3, My Id): correct them if they are misspelt (ours are url, key, size, ' +
          'checksum, md5, sha1, sha256, sha512, crc32, crc32c, crc64nvme), else take the list with them: ' +
          `ignoreColumns ["sha265","column 3","My Id"], or --ignore-columns 'sha265,column 3,My Id'`,
      ],
    ],
    [
      'url,Link\nhttps://host/a,1',
      {},
      ['1: the header has more than one url column (url, Link): remove one, or name it in ignoreColumns (--ignore-columns)'],
    ],
    ['url,key\nhttps://host/a,b', { ignoreColumns: ['url'] }, ['1: the header has no url column: add it']],
    [
      'url\nhttps://host/a.pdf;docs/x.pdf',
      {},
      ['2: the line has a semicolon and no comma: write sep=; or sep=, into the first line, to tell what separates'],
    ],
    ['address,name\nhttps://host/a,b', {}, ['1: the first line is neither a header with a url column nor a URL: add the header']],
    [`url,md5,crc32\nhttps://host/a,${MD5_HEX},00000000`, {}, ['2: md5 and crc32 are both given: give one checksum a file']],
    [
      'url,key\n"https://host/a"x,b\nhttps://host/"b",c\nhttps://host/c,d',
      {},
      [
        '2: the quotes do not match: quote a whole field, and double the quotes inside it',
        '3: the quotes do not match: quote a whole field, and double the quotes inside it',
      ],
    ],
    ['url,key\nhttps://host/a,"b', {}, ['2: the quotes do not match: quote a whole field, and double the quotes inside it']],
    [
      'url,key\nhttps://host/x\n"https://host\n/a",b\nhttps://host/c,"d\ne',
      {},
      [
        '2: the line has 1 field, the header 2: quote a field that contains a separator',
        '3: url contains a control character, or a space at an end: percent-encode it or leave it out',
        '5: the quotes do not match: quote a whole field, and double the quotes inside it',
      ],
    ],
    ['PK\u0003\u0004\u0000', {}, ['1: the list is a ZIP archive or an Excel workbook: unpack it, or save it as CSV']],
    [
      'https://host/a;b.pdf',
      { format: 'csv' },
      ['1: the line has a semicolon and no comma: write sep=; or sep=, into the first line, to tell what separates'],
    ],
    ['https://host/a,b,c', { format: 'csv' }, ['1: the line has 3 fields, not URL,FILENAME: quote a field that contains a comma']],
    [
      `TsvHttpData-1.0\nhttps://host/a\t1\t${MD5_HEX}`,
      {},
      ['2: the MD5 is hex: TsvHttpData-1.0 takes the base64 of its 16 bytes (a CSV manifest takes either)'],
    ],
    ['https://host/a\t1', { format: 'tsv-http-data' }, ['1: the first line is not TsvHttpData-1.0: add it']],
    [
      'TsvHttpData-1.0\nhttps://host/a\tx\nhttps://host/b\t1\t\t4',
      {},
      [
        '2: size is no whole number of bytes: give one, or leave it out',
        '3: the line has 4 fields: write URL, size and MD5, with a tab between',
      ],
    ],
    ['https://host/a\nnot-a-url', {}, ['2: url is no absolute URL: give an http, https or s3 URL']],
  ])('%j names the line, the reason and the mend', async (content, reading, problems) => {
    expect(await problemsOf(content, reading)).toEqual(problems);
    expect(await problemsOf(content, { ...reading, chunk: 1 })).toEqual(problems);
  });

  it.each<[ManifestFormat | undefined, string]>([
    ['jsonl', '{"url":"https://host/a"}\n'],
    ['json', '[{"url":"https://host/a"},\n'],
    ['csv', 'https://host/a,b\n'],
    [undefined, 'https://host/a\n'],
  ])('with broken UTF-8 in %s is refused by line', async (format, start) => {
    const content = Buffer.concat([Buffer.from(`${start}{"url":"https://host/`), Buffer.from([0xc3, 0x28]), Buffer.from('"}\n')]);
    expect(await problemsOf(content, format === undefined ? {} : { format })).toContain(
      '2: the line is not UTF-8: save the manifest as UTF-8',
    );
  });

  it('with a line over 64 KiB is refused without holding the line', async () => {
    const long = `https://host/${'x'.repeat(70_000)}`;
    expect(await problemsOf(`https://host/a\n${long}\nnot-a-url`)).toEqual([
      '2: the line is over 65536 bytes: shorten it',
      '3: url is no absolute URL: give an http, https or s3 URL',
    ]);
    expect(await problemsOf(`{"url":"https://host/a"}\n${JSON.stringify({ url: long })}`)).toEqual([
      '2: the line is over 65536 bytes: shorten it',
    ]);
    expect((await problemsOf(`url,key\nhttps://host/a,"${'x\n'.repeat(70_000)}"`))[0]).toBe(
      '2: the record is over 65536 characters: close its quotes, or shorten it',
    );
    expect(await problemsOf(JSON.stringify([{ url: 'https://host/a' }, { url: long.repeat(3) }]))).toEqual([
      '1: an element is over 65536 characters: shorten it',
    ]);
  });

  it('takes a line of exactly 64 KiB', async () => {
    const line = `{"url":"https://host/a","headers":{}`.padEnd(65_535, ' ') + '}';
    expect(await read(`${line}\r\n${line.replace('/a', '/b')}`)).toHaveLength(2);
  });

  it('keeps the first 20 problems, counts them all, and yields nothing after the first', async () => {
    const lines = Array.from({ length: 12_000 }, (_, index) => (index < 10_000 ? `https://host/${index}` : 'nothing'));
    const yielded: ManifestTask[] = [];
    const reading = async () => {
      for await (const tasks of readManifest(async () => chunked(lines.join('\n'), 1_024), aManifestReading())) yielded.push(...tasks);
    };
    await expect(reading()).rejects.toMatchObject({ code: 'INVALID_MANIFEST', disposition: 'reject', total: 2_000 });
    expect(yielded.map(({ url }) => url)).toEqual(lines.slice(0, yielded.length));
    expect(yielded.length).toBeGreaterThan(0);
    const error = await errorOf(lines.join('\n'));
    expect(error.problems.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, index) => 10_001 + index));
    expect(error.message).toBe('The manifest has 2000 problems');
  });

  it('that is gzip and broken is refused, whatever could be read before', async () => {
    const whole = gzipSync(JSONL);
    expect(await problemsOf(whole.subarray(0, -9))).toEqual([expect.stringContaining('the gzip data is broken')]);
    whole[20] = 0xff;
    whole[21] = 0xff;
    expect(await problemsOf(whole)).toEqual([expect.stringContaining('the gzip data is broken')]);
  });

  it('with too many tasks is refused', async () => {
    const lines = Array.from({ length: 11 }, (_, index) => `https://host/${index}`).join('\n');
    expect(await read(lines, { maxTasks: 11 })).toHaveLength(11);
    expect(await problemsOf(lines, { maxTasks: 10 })).toEqual(['11: more than 10 tasks: split the export into several jobs']);
  });

  it('counts the prefix into the length of keys', async () => {
    const line = `https://host/${'x'.repeat(1_000)}`;
    expect(await read(line, { prefix: `${'p'.repeat(23)}/` })).toHaveLength(1);
    expect(await problemsOf(line, { prefix: `${'p'.repeat(24)}/` })).toEqual([expect.stringContaining('1024 bytes')]);
  });

  it('shows no URL', async () => {
    const error = await errorOf(
      '{"url":"gopher://host/?sig=secret"}\n{"url":"https://u:secret@host/a"}\n{"url":"secret"\n{"secret":1,"url":2}',
    );
    expect(JSON.stringify([error.message, error.problems.slice(0, 3)])).not.toContain('secret');
  });
});

describe('columns that are not ours', () => {
  const task = [{ url: 'https://host/a', key: 'a b' }];

  it.each([
    ['My ID;url;key;note', 'My ID;url;key;note\n7;https://host/a; a b ;"two\nlines; and more"\n', ['my-id', 'NOTE']],
    ['one of ours', 'url,key,size\nhttps://host/a,a b,unknown\n', ['size']],
    ['the second URL', 'url,key,link\nhttps://host/a,a b,https://other/b\n', ['link']],
    ["pandas' index", ',url,key\n0,https://host/a,a b\n', ['column 1']],
    ['JSONL', '{"url":"https://host/a","key":"a b","My ID":{"x":1}}\n', ['my id']],
    ['JSON', '[{"url":"https://host/a","key":"a b","My ID":[1]}]', ['my id']],
  ])('are left unread by consent: %s', async (_what, content, ignoreColumns) => {
    expect(await read(content, { ignoreColumns })).toEqual(task);
    expect(await read(content, { ignoreColumns, chunk: 1 })).toEqual(task);
  });
});

describe('keys given twice', () => {
  it('are found in every format, with both places', async () => {
    expect(await problemsOf('https://host/a\nhttps://host/b\nhttps://other/a')).toEqual([
      '3: key "a" (from the URL) is also that of line 1: give each file a key of its own, ' +
        'or take host and path of its URL (source.keyFrom: path, or --key-from path)',
    ]);
    expect(await problemsOf('[{"url":"https://host/a"},{"url":"https://host/b","key":"a"}]')).toEqual([
      '1: element 2: key "a" is also that of element 1: give each file a key of its own',
    ]);
    expect(await problemsOf('https://host/a?x=1\nhttps://host/a?x=2', { keyFrom: 'path' })).toEqual([
      '2: key "host/a" (from the URL) is also that of line 1: give each file a key of its own',
    ]);
  });

  it('are one file when all else is the same, too: however many they are', async () => {
    const lines = Array.from({ length: 30_000 }, (_, index) => `https://host/${index % 20_000}.pdf`);
    let repeated: RepeatedTasks | undefined;
    const folder = await mkdtemp(join(tmpdir(), 'repeated-'));
    const tasks = await read(lines.join('\n'), { hashesFile: join(folder, 'hashes'), onRepeats: (found) => (repeated = found) });
    await rm(folder, { recursive: true });
    const kept = tasks.filter((_task, ordinal) => repeated?.has(ordinal) !== true);
    expect([repeated?.count, kept.map(({ url }) => url)]).toEqual([10_000, lines.slice(0, 20_000)]);
  });

  it('are listed by line among the other problems, and counted', async () => {
    const lines = [
      'https://host/a',
      'nothing',
      'https://host/a?2',
      'nothing',
      'https://host/a?3',
      ...Array.from({ length: 50 }, (_, index) => `https://host/b${index % 25}?${index}`),
    ];
    const error = await errorOf(lines.join('\n'));
    expect(error.problems.slice(0, 5).map(({ line }) => line)).toEqual([2, 3, 4, 5, 31]);
    expect(error.problems).toHaveLength(20);
    expect(error.total).toBe(29);
  });

  it('are looked for in a second reading, which must be of the same manifest', async () => {
    const contents = ['https://host/a\nhttps://host/a?2', 'https://host/a\nhttps://host/b'];
    const reading = async () => {
      for await (const _ of readManifest(async () => chunked(contents.shift() ?? '', 1_024), aManifestReading()));
    };
    await expect(reading()).rejects.toMatchObject({ code: 'MANIFEST_CHANGED', disposition: 'retry' });
  });

  it('cost no second reading when there are none', async () => {
    let opened = 0;
    const open = async () => (opened++, chunked(JSONL, 10));
    for await (const _ of readManifest(open, aManifestReading()));
    expect(opened).toBe(1);
  });
});

describe('the source of a manifest', () => {
  it.each(['jsonl', 'json', 'csv', undefined] as const)('that fails passes its own error on (%s)', async (format) => {
    for (const start of [JSONL, gzipSync(JSONL).subarray(0, 20)]) {
      const body = Readable.from(
        (function* () {
          yield Buffer.from(start);
          throw new AppError('SOURCE_CUT', 'cut', { disposition: 'retry' });
        })(),
      );
      const reading = async () => {
        for await (const _ of readManifest(async () => body, aManifestReading({ format })));
      };
      await expect(reading()).rejects.toMatchObject({ code: 'SOURCE_CUT' });
      expect(body.destroyed).toBe(true);
    }
  });

  it('is let go when the signal is aborted', async () => {
    const controller = new AbortController();
    const silent = new Readable({ read: () => undefined });
    const reading = readManifest(async () => silent, aManifestReading({ signal: controller.signal })).next();
    await new Promise((resolve) => void setImmediate(resolve));
    controller.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    expect(silent.destroyed).toBe(true);
  });

  it.each([
    ['sep=,\nurl\nhttps://host/a;b.pdf', undefined],
    ['url\n"https://host/a,b.pdf"', undefined],
    ['"https://host/a,b.pdf"', 'csv' as const],
  ])('takes a separator for a part of the URL where the list says so: %j', async (list, format) => {
    expect(await read(list, { format })).toHaveLength(1);
  });

  it('tells quotes that are never closed once, and none of the lines inside them', async () => {
    const list = `url,key\nhttps://host/a,"a\n${`${'x'.repeat(1_000)}\n`.repeat(200)}`;
    expect(await problemsOf(list)).toEqual(['2: the record is over 65536 characters: close its quotes, or shorten it']);
  });
});
