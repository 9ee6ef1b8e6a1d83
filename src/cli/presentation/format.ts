const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** `0 B`, `1.5 KB`, `40.0 MB`: powers of 1,000. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < BYTE_UNITS.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** `42 s`, `3 min 05 s`, `2 h 07 min`, `3 d 04 h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${padded(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${padded(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${padded(hours % 24)} h`;
}

/** `42s`, `3m05s`, `2h07m`, `3d04h`: in tables. */
export function formatShortDuration(ms: number): string {
  return formatDuration(ms).replace(' min', 'm').replaceAll(' ', '');
}

function padded(value: number): string {
  return String(value).padStart(2, '0');
}
