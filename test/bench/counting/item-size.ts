/*
 * Size of an item as DynamoDB counts it (developer guide, "DynamoDB item sizes and formats"): attribute names and strings by their UTF-8
 * bytes, numbers about one byte for two digits and one more, binary by its bytes, boolean and null 1, lists and maps 3 and 1 for each
 * element. A write unit is one write of up to 1 KB, for the larger of the item before and after; what a failed condition met is paid, too.
 */

const WRITE_UNIT_BYTES = 1_024;

export type Item = Readonly<Record<string, unknown>>;

/** In bytes. */
export function itemSize(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0);
}

export function writeUnits(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / WRITE_UNIT_BYTES));
}

function valueSize(value: unknown): number {
  if (value === undefined) return 0;
  if (value === null || typeof value === 'boolean') return 1;
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return numberSize(value);
  if (value instanceof Uint8Array) return value.byteLength;
  if (value instanceof Set) return [...value].reduce<number>((sum, element) => sum + valueSize(element), 0);
  if (Array.isArray(value)) return value.reduce<number>((sum, element) => sum + 1 + valueSize(element), 3);
  const entries = Object.entries(value);
  return entries.reduce((sum, [name, inner]) => sum + 1 + Buffer.byteLength(name) + valueSize(inner), 3);
}

function numberSize(value: number): number {
  const digits = String(Math.abs(value))
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '').length;
  return Math.ceil(digits / 2) + (value < 0 ? 2 : 1);
}
