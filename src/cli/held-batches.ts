import type { HeldBatch } from '../batches/index.js';
import { formatDuration, table, type Column } from './presentation/index.js';

interface FurtherColumn<B> {
  title: string;
  of: (batch: B) => string;
}

/** Running batches, how old their signs of life are, and how much of their TTL is gone. */
export function heldBatchTable<B extends HeldBatch>(batches: readonly B[], further: readonly FurtherColumn<B>[] = []): string {
  const columns: Column[] = [
    { title: 'JOB' },
    { title: 'BATCH', align: 'right' },
    { title: 'TYPE' },
    { title: 'HELD BY' },
    { title: 'FOR', align: 'right' },
    { title: 'HEARTBEAT', align: 'right' },
    { title: 'PROGRESS', align: 'right' },
    { title: 'OF TTL', align: 'right' },
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
  return table(columns, rows);
}

export function age(seconds: number | undefined): string {
  return seconds === undefined ? '-' : formatDuration(seconds * 1_000);
}
