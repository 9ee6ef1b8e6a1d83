import { crc32Of, pathOf, sha256Of, type Content } from '../origin/content.js';

/** One file to bring, as every contender is told of it. */
export interface PlannedFile {
  key: string;
  url: string;
  sizeBytes: number;
  /** Hexadecimal. Compared by the contenders that can be given one: rclone cannot. */
  sha256: string;
  /** Hexadecimal. Known to the bench alone, to judge what the sink got. */
  crc32: string;
}

/** How many files of which sizes, in this order. */
export type FileMix = readonly { count: number; sizeBytes: number }[];

/** Files of one mix lie evenly among each other: the large ones do not come last. */
export function planFiles(mix: FileMix, originUrl: string): PlannedFile[] {
  const spread = mix.flatMap(({ count, sizeBytes }) =>
    Array.from({ length: count }, (_, variant) => ({ at: (variant + 0.5) / count, content: { sizeBytes, variant } })),
  );
  spread.sort((a, b) => a.at - b.at);
  return spread.map(({ content }, index) => plannedFile(content, index, originUrl));
}

function plannedFile(content: Content, index: number, originUrl: string): PlannedFile {
  return {
    key: `files/${String(index).padStart(8, '0')}.bin`,
    url: `${originUrl}${pathOf(content)}`,
    sizeBytes: content.sizeBytes,
    sha256: sha256Of(content),
    crc32: crc32Of(content),
  };
}

/** What `rclone copyurl --urls` reads: URL and name, no header. */
export function asRcloneCsv(files: readonly PlannedFile[]): string {
  return files.map(({ url, key }) => `${csvField(url)},${csvField(key)}\n`).join('');
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
