import type { FileMix } from '../transfers/transfer-plan.js';

export const TRANSFER_SCENARIOS = ['small', 'large', 'mixed'] as const;
export type TransferScenario = (typeof TRANSFER_SCENARIOS)[number];

export interface TransferSizes {
  /** How many small files. */
  files: number;
  /** Of a large file. */
  largeBytes: number;
  largeFiles: number;
}

export const SMALL_BYTES = 16 * 1024;

/** mixed: half of both. */
export function mixOf(scenario: TransferScenario, { files, largeBytes, largeFiles }: TransferSizes): FileMix {
  switch (scenario) {
    case 'small':
      return [{ count: files, sizeBytes: SMALL_BYTES }];
    case 'large':
      return [{ count: largeFiles, sizeBytes: largeBytes }];
    case 'mixed':
      return [
        { count: Math.ceil(files / 2), sizeBytes: SMALL_BYTES },
        { count: Math.ceil(largeFiles / 2), sizeBytes: largeBytes },
      ];
    default:
      return scenario satisfies never;
  }
}
