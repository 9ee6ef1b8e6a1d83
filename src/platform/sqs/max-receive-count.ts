/** Of the attribute's JSON, where AWS writes the number as a text, too. */
export function parseMaxReceiveCount(redrivePolicy: string | undefined): number | undefined {
  if (redrivePolicy === undefined) return undefined;
  try {
    const { maxReceiveCount } = JSON.parse(redrivePolicy) as { maxReceiveCount?: unknown };
    const count = Number(maxReceiveCount);
    return Number.isSafeInteger(count) && count > 0 ? count : undefined;
  } catch {
    return undefined;
  }
}
