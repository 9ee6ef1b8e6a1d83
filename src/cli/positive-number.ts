import { InvalidArgumentError } from 'commander';

/** Of an option: 1 to 999,999. */
export function positiveNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}
