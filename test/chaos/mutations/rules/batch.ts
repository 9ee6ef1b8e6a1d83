import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const REPOSITORY = 'src/batches/adapters/dynamo-db-batch-repository.adapter.ts';
const CLAIM = 'src/batches/application/claim-batch.use-case.ts';
const LEASES = 'src/batches/application/lease.service.ts';
const RUN = 'src/batches/application/run-batch.use-case.ts';
const RELEASE = 'src/batches/application/release-batch.use-case.ts';
const LEASE_CONDITION = '[MY_LOCK, SAME_RUN, IS_RUNNING, NEWER_THAN_WRITTEN]';
const ON_ROWS = ['conformance/batch-repository.spec.ts'];
const ON_CLAIM = ['unit/batches/application/claim-batch.use-case.spec.ts'];
const ON_RUN = ['unit/batches/application/run-batch.use-case.spec.ts'];
const ON_LEASE = ['unit/batches/application/lease.service.spec.ts'];
const ON_HEARTBEAT = ['unit/batches/application/batch-lease.spec.ts'];
const ON_DRAIN = ['unit/batches/application/batch-drain.spec.ts'];

const CLAIMING: readonly Mutation[] = [
  {
    rule: 'Claim IF run = the message’s',
    fault: 'a claim without run: a message of run 1 claims a row of run 2',
    file: REPOSITORY,
    find: "['#status = :queued', SAME_RUN]",
    replace: `['#status = :queued', ${alwaysTrue('SAME_RUN')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'claimId',
    fault: 'two consumers of one process both think that they hold the batch',
    file: CLAIM,
    find: 'batch.claimId === claimId)',
    replace: 'batch.lockedBy === coordinatorId)',
    specs: ON_CLAIM,
  },
  {
    rule: 'claimId, re-read',
    fault: 'a claim whose reply was lost is not read again',
    file: CLAIM,
    find: 'if (row?.claimId === claimId) return row;',
    replace: '',
    specs: ON_CLAIM,
  },
  {
    rule: 'claimId, re-read',
    fault: 'a refused claim is not read again',
    file: CLAIM,
    find: 'return this.batches.find(message.jobId, message.batchNo);',
    replace: 'return undefined;',
    specs: ON_CLAIM,
  },
  {
    rule: 'An unknown claim that shows queued leaves the message',
    fault: 'its message is dropped',
    file: CLAIM,
    find: 'throw error;',
    replace: 'return undefined;',
    specs: ON_CLAIM,
  },
  {
    rule: 'Message deleted after the claim, claimed or not',
    fault: 'it is deleted before the claim',
    file: RUN,
    find: 'const claim = await',
    replace: 'await deleteMessage();\n    const claim = await',
    specs: ON_RUN,
  },
  {
    rule: 'Message deleted after the claim, claimed or not',
    fault: 'it is left when nothing was claimed',
    file: RUN,
    find: 'await deleteMessage().catch(',
    replace: "if (claim.kind === 'claimed') await deleteMessage().catch(",
    specs: ON_RUN,
  },
];

const LEASE: readonly Mutation[] = [
  {
    rule: 'lockToken never removed or reset',
    fault: 'each claim begins again at 1',
    file: REPOSITORY,
    find: 'lockToken = lockToken + :one',
    replace: 'lockToken = :one',
    specs: ON_ROWS,
  },
  {
    rule: 'lockToken never removed or reset',
    fault: 'a release resets it',
    file: REPOSITORY,
    find: 'SET #status = :queued, enqueuedAt = :now REMOVE',
    replace: 'SET #status = :queued, enqueuedAt = :now, lockToken = lockToken - lockToken REMOVE',
    specs: ON_ROWS,
  },
  {
    rule: 'lockToken never removed or reset',
    fault: 'a cancel resets it',
    file: REPOSITORY,
    find: 'SET #status = :cancelled, #ttl = :ttl REMOVE',
    replace: 'SET #status = :cancelled, #ttl = :ttl, lockToken = lockToken - lockToken REMOVE',
    specs: ON_ROWS,
  },
  {
    rule: 'lockToken never removed or reset',
    fault: 'a reclaim resets it',
    file: REPOSITORY,
    find: 'SET #status = :queued, attempts = :newAttempts, reclaimId',
    replace: 'SET #status = :queued, lockToken = lockToken - lockToken, attempts = :newAttempts, reclaimId',
    specs: ['conformance/batch-reclaim.spec.ts'],
  },
  {
    rule: 'Checkpoint IF lockToken = mine',
    fault: 'a checkpoint without fence: a former holder writes',
    file: REPOSITORY,
    find: LEASE_CONDITION,
    replace: `[${alwaysTrue('MY_LOCK')}, SAME_RUN, IS_RUNNING, NEWER_THAN_WRITTEN]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Checkpoint IF run = mine',
    fault: 'a holder of a former run writes',
    file: REPOSITORY,
    find: LEASE_CONDITION,
    replace: `[MY_LOCK, ${alwaysTrue('SAME_RUN')}, IS_RUNNING, NEWER_THAN_WRITTEN]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Checkpoint IF seq < :seq',
    fault: 'a delayed first try undoes a newer checkpoint',
    file: REPOSITORY,
    find: LEASE_CONDITION,
    replace: `[MY_LOCK, SAME_RUN, IS_RUNNING, ${alwaysTrue('NEWER_THAN_WRITTEN')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'A failed renewal is lost only after a re-read',
    fault: 'a refused write is lost at once, though it may be our own',
    file: LEASES,
    find: "if (row !== undefined && isMine(row)) return { kind: 'renewed', since, batch: row };",
    replace: '',
    specs: ON_LEASE,
  },
  {
    rule: 'Unknown is not lost; the local fence ends it at 2/3 TTL',
    fault: 'a renewal that did not get through is lost',
    file: LEASES,
    find: "return { kind: 'unknown', cause };",
    replace: "return { kind: 'lost', by: String(cause) };",
    specs: ON_HEARTBEAT,
  },
  {
    rule: 'Unknown is not lost; the local fence ends it at 2/3 TTL',
    fault: 'no fence: a holder that is cut off works on',
    file: 'src/batches/domain/local-fence.ts',
    find: 'const FENCE = 2 / 3;',
    replace: 'const FENCE = 100;',
    specs: ON_HEARTBEAT,
  },
  {
    rule: 'Unknown is not lost; the local fence ends it at 2/3 TTL',
    fault: 'the fence begins with the reply, not with the call',
    file: LEASES,
    find: "if (written.kind === 'written') return { kind: 'renewed', since, batch: written.batch };",
    replace: "if (written.kind === 'written') return { kind: 'renewed', since: this.clock.monotonicMs(), batch: written.batch };",
    specs: ['unit/batches/application/batch-lease.spec.ts', 'unit/batches/application/lease.service.spec.ts'],
  },
];

const ENDING: readonly Mutation[] = [
  {
    rule: 'A flush never holds the last task',
    fault: 'the last task in a plain flush',
    file: 'src/batches/domain/checkpoint.ts',
    find: 'if (!this.complete || this.last === undefined) return state;',
    replace: 'if (this.totalTasks > 0 || this.last === undefined) return state;',
    specs: ['unit/batches/domain/checkpoint.spec.ts', ...ON_RUN],
  },
  {
    rule: 'Results before the row says succeeded',
    fault: 'the row ends before its results are written',
    file: RUN,
    find: 'const results = await this.insist(',
    replace:
      "const none = { key: 'none', size: 0 };\n" +
      '    await this.services.leases.end(running.lease, running.nextSeq(), running.checkpoint.whole(), { succeeded: none, failed: none });\n' +
      '    const results = await this.insist(',
    specs: ON_RUN,
  },
  {
    rule: 'Result keys carry lockToken',
    fault: 'each holder of a batch writes the same files',
    file: RUN,
    find: 'fence: String(lockToken)',
    replace: 'fence: String(lockToken > 0)',
    specs: ON_RUN,
  },
  {
    rule: 'Result keys carry lockToken',
    fault: 'the keys leave the fence out',
    file: 'src/export-jobs/domain/export-layout.ts',
    find: '${results}SUCCEEDED_${padded(batchNo)}_${fence}.jsonl',
    replace: '${results}SUCCEEDED_${padded(batchNo)}.jsonl',
    specs: ['unit/export-jobs/domain/export-layout.spec.ts'],
  },
  {
    rule: 'Result keys carry lockToken (reclaimId for dead)',
    fault: 'who gives a batch up writes over its holder’s files',
    file: 'src/batches/application/give-up-batch.use-case.ts',
    find: 'fence: reclaimId',
    replace: 'fence: String(observed.lockToken)',
    specs: ['unit/batches/application/give-up-batch.use-case.spec.ts'],
  },
  {
    rule: 'Release: row queued, then the message',
    fault: 'the message is sent before the release',
    file: RELEASE,
    find: 'const released = await',
    replace: 'await this.send({ jobId, batchNo, run });\n    const released = await',
    specs: ON_DRAIN,
  },
  {
    rule: 'Release: row queued, then the message',
    fault: 'a former holder releases what another one holds',
    file: REPOSITORY,
    find: '[MY_LOCK, SAME_RUN, IS_RUNNING].join',
    replace: `[${alwaysTrue('MY_LOCK')}, SAME_RUN, IS_RUNNING].join`,
    specs: ON_ROWS,
  },
  {
    rule: 'A release whose write fails re-reads',
    fault: 'our own release, met by a retry, is taken for lost',
    file: LEASES,
    find: "(row) => row.status === 'queued' && row.run === lease.run && row.lockToken === lease.lockToken,",
    replace: '() => false,',
    specs: ON_DRAIN,
  },
];

export const BATCH_MUTATIONS: readonly Mutation[] = [...CLAIMING, ...LEASE, ...ENDING];
