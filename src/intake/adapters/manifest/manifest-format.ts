import type { ManifestFormat } from '../../domain/export-request.js';
import { dialectOf } from './csv-dialect.js';

export const TSV_HEADER = 'TsvHttpData-1.0';

/**
 * What the list itself says of its format in its first line that says something; `unnamed`: nothing, since it begins with a URL. Then it is
 * one of a URL a line only as long as no line may also be read in another way.
 * @param start the beginning of the list: whole lines, or up to 64 KiB
 */
export function sniffFormat(start: string): ManifestFormat | 'unnamed' {
  const first = start.trimStart();
  if (first.startsWith('[')) return 'json';
  if (first.startsWith('{')) return 'jsonl';
  const line = start.split('\n').find(tells) ?? '';
  if (line.trim() === TSV_HEADER) return 'tsv-http-data';
  if (line.includes('://')) return 'unnamed';
  const { kind, delimiter } = dialectOf(line);
  return kind !== 'none' || line.includes(delimiter) ? 'csv' : 'unnamed';
}

/** Whether a line is neither blank nor a comment. */
export function tells(line: string): boolean {
  const bare = line.trim();
  return bare !== '' && !bare.startsWith('#');
}
