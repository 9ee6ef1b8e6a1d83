/** Why a list cannot be read, for people. */
export function unreadableReason(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : code;
}

/** Nothing but blanks and line ends. */
export function isBlank(list: Uint8Array): boolean {
  return list.every((byte) => byte <= 0x20);
}

export function emptyList(name: string): string {
  return `${name} is empty: give a list of one URL a line, JSONL, JSON or CSV`;
}
