import type { ManifestFormat } from '../../domain/export-request.js';

export const TSV_HEADER = 'TsvHttpData-1.0';

/** Tells the format from the first line that says something. `start` is the beginning of the manifest: whole lines, or up to 64 KiB. */
export function sniffFormat(start: string): ManifestFormat | 'list' {
  const first = start.trimStart();
  if (first.startsWith('[')) return 'json';
  if (first.startsWith('{')) return 'jsonl';
  const line = firstTellingLine(start);
  if (line === TSV_HEADER) return 'tsv-http-data';
  // A URL may hold a comma, too: a list that begins with such a one must be quoted, or given as JSONL.
  return line.includes(',') || line.startsWith('"') || /^url$/i.test(line) ? 'csv' : 'list';
}

export function isComment(line: string): boolean {
  return line.startsWith('#');
}

function firstTellingLine(start: string): string {
  for (const line of start.split('\n')) {
    const bare = line.trim();
    if (bare !== '' && !isComment(bare)) return bare;
  }
  return '';
}
