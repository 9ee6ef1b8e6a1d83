import type { HeldBatch } from '../batches/index.js';
import { formatShortDuration, table, type Column } from './presentation/index.js';

interface FurtherColumn<B> {
  title: string;
  of: (batch: B) => string;
}

/** Running batches, how old their signs of life are, and how much of their TTL is gone. `width`: of the lines, at most. */
export function heldBatchTable<B extends HeldBatch>(
  batches: readonly B[],
  width: number,
  further: readonly FurtherColumn<B>[] = [],
): string {
  const columns: Column[] = [
    { title: 'JOB', shorten: 'end' },
    { title: 'BATCH', align: 'right' },
    { title: 'TYPE', wideOnly: true },
    { title: 'HELD BY', shorten: 'start' },
    { title: 'FOR', align: 'right' },
    { title: 'BEAT', align: 'right' },
    { title: 'PROGRESS', align: 'right' },
    { title: 'TTL', align: 'right' },
    { title: 'STATE' },
    ...further.map(({ title }) => ({ title })),
  ];
  const rows = batches.map((batch) => [
    batch.jobId,
    String(batch.batchNo),
    batch.type,
    batch.heldBy ?? '?',
    age(batch.lockAgeS),
    age(batch.heartbeatAgeS),
    age(batch.progressAgeS),
    `${Math.round(batch.share * 100)}%`,
    batch.state,
    ...further.map(({ of }) => of(batch)),
  ]);
  return table(columns, rows, width);
}

export function age(seconds: number | undefined): string {
  return seconds === undefined ? '-' : formatShortDuration(seconds * 1_000);
}
