/** One line; fractions in five digits, as nothing here is measured more exactly. */
export function asJsonLine(value: object): string {
  const rounded = (_key: string, inner: unknown) =>
    typeof inner === 'number' && !Number.isInteger(inner) ? Number(inner.toPrecision(5)) : inner;
  return `${JSON.stringify(value, rounded)}\n`;
}
