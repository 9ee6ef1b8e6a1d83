import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const REPOSITORY = 'src/batches/adapters/dynamo-db-batch-repository.adapter.ts';
const DOUBT = 'src/batches/application/self-doubt.ts';
const TAKE = 'src/batches/application/reclaim-batch.use-case.ts';
const OWN_RECLAIM = 'src/batches/application/own-reclaim.ts';
const GIVE_UP = 'src/batches/application/give-up-batch.use-case.ts';
const DECISION = 'src/batches/domain/decide-reclaim.ts';
const STALE = 'src/batches/domain/stale-batch.ts';
const ON_ROWS = ['conformance/batch-reclaim.spec.ts'];
const ON_RECLAIM = ['unit/batches/application/reclaim-stale-batches.use-case.spec.ts'];
const ON_TURN = ['unit/batches/application/reclaim-turn.spec.ts'];
const ON_GIVE_UP = ['unit/batches/application/give-up-batch.use-case.spec.ts'];
const ON_DECISION = ['unit/batches/domain/decide-reclaim.spec.ts'];

const SELF_DOUBT = 'Self-doubt: no turn after an own late turn or a failed own write';
const OBSERVED = ['IS_RUNNING', 'SAME_RUN', 'MY_LOCK', "'attempts = :attempts'", "'lockedAt = :lockedAt'", 'heartbeatAsObserved'];

/** Everything that a reclaimer observed, but one. */
const BLIND: readonly Mutation[] = OBSERVED.map((part) => ({
  rule: 'Everything observed is in the condition',
  fault: `the condition leaves out ${part}`,
  file: REPOSITORY,
  find: `[${OBSERVED.join(', ')}]`,
  replace: `[${OBSERVED.map((other) => (other === part ? alwaysTrue(part) : other)).join(', ')}]`,
  specs: ON_ROWS,
}));

const APART: readonly Mutation[] = [
  {
    rule: 'halves what is run first from the second death in a row on',
    fault: 'the size stays: one file takes its whole batch along',
    file: DECISION,
    find: 'trialSize: Math.ceil(ranAtOnce / 2)',
    replace: 'trialSize: ranAtOnce',
    specs: ON_DECISION,
  },
  {
    rule: 'blames the first task that is not recorded',
    fault: 'the last one is blamed, which never ran',
    file: DECISION,
    find: 'const [position] = pending;',
    replace: 'const [position] = pending.toReversed();',
    specs: ON_DECISION,
  },
  {
    rule: 'runs no more before what survived is written down',
    fault: 'the next tasks take what has survived along',
    file: 'src/batches/application/run-batch.use-case.ts',
    find: 'await running.written();',
    replace: 'void running.written();',
    specs: ['unit/batches/application/trial-of-tasks.spec.ts'],
  },
  {
    rule: 'are charged for nothing that happened beside others',
    fault: 'a file pays for its neighbour',
    file: 'src/batches/application/try-judge.ts',
    find: 'error.code === THREAD_LOST && !runsAlone(dispatched)',
    replace: "error.code === '' && !runsAlone(dispatched)",
    specs: ['unit/batches/application/lost-threads.spec.ts'],
  },
  {
    rule: 'run alone, one at a time',
    fault: 'two suspects take each other along',
    file: 'src/batches/application/job-lane.ts',
    find: '!this.lone.isTaken || !runsAlone(task)',
    replace: 'this.lone !== undefined || !runsAlone(task)',
    specs: ['unit/batches/application/lost-threads.spec.ts'],
  },
];

const TAKING: readonly Mutation[] = [
  {
    rule: 'reclaimId recognises a retried or unknown write',
    fault: 'a reclaim whose reply was lost sends no message',
    file: OWN_RECLAIM,
    find: 'row.reclaimId === as.reclaimId ? row : undefined;',
    replace: "row.reclaimId === '' ? row : undefined;",
    specs: ON_RECLAIM,
  },
  {
    rule: 'reclaimId recognises a retried or unknown write',
    fault: 'another’s reclaim is taken for our own',
    file: OWN_RECLAIM,
    find: 'row.reclaimId === as.reclaimId ? row : undefined;',
    replace: "row.reclaimId !== '' ? row : undefined;",
    specs: ON_RECLAIM,
  },
  {
    rule: 'reclaimId recognises a retried or unknown write',
    fault: 'a giving up whose reply was lost is not counted',
    file: GIVE_UP,
    find: "{ status: 'dead', reclaimId }",
    replace: "{ status: 'dead', reclaimId: lastError }",
    specs: ON_GIVE_UP,
  },
  {
    rule: 'Who reclaims, sends',
    fault: 'the message is left to repair',
    file: TAKE,
    find: 'await this.queue.send(',
    replace: 'if (batchNo < 0) await this.queue.send(',
    specs: ON_RECLAIM,
  },
];

const JUDGING: readonly Mutation[] = [
  {
    rule: 'Stale (a)',
    fault: 'only stored times condemn: a holder whose clock is ahead is never stale',
    file: STALE,
    find: 'if (unchangedMs > limits.ttlMs) return true;',
    replace: '',
    specs: ON_RECLAIM,
  },
  {
    rule: 'Stale (b)',
    fault: 'stored times condemn at the first look',
    file: STALE,
    find: 'const SILENT_INTERVALS = 4;',
    replace: 'const SILENT_INTERVALS = 0;',
    specs: ON_RECLAIM,
  },
  {
    rule: SELF_DOUBT,
    fault: 'a process that was frozen trusts its old look',
    file: DOUBT,
    find: 'return isLate || hasFailed;',
    replace: 'return !isLate && hasFailed;',
    specs: ON_TURN,
  },
  {
    rule: SELF_DOUBT,
    fault: 'a process whose own lease write failed takes from others',
    file: DOUBT,
    find: 'this.leases.lastWriteFailed || isUnheard;',
    replace: 'isUnheard;',
    specs: ON_TURN,
  },
  {
    rule: SELF_DOUBT,
    fault: 'a process whose own heartbeat to the fleet failed takes from others',
    file: DOUBT,
    find: 'this.leases.lastWriteFailed || isUnheard;',
    replace: 'this.leases.lastWriteFailed;',
    specs: ON_TURN,
  },
  {
    rule: 'Self-doubt',
    fault: 'a failed heartbeat to the fleet is told to nobody',
    file: 'src/fleet/application/coordinator-heartbeat.service.ts',
    find: 'this.memory.lastWriteFailed = true;',
    replace: 'this.memory.lastWriteFailed = false;',
    specs: ['unit/fleet/application/coordinator-heartbeat.service.spec.ts'],
  },
  {
    rule: 'attempts start again at 1',
    fault: 'ten deploys give up a batch that gets on',
    file: DECISION,
    find: "if (hasGrown) return { kind: 'requeue', attempts: 1 };",
    replace: '',
    specs: ON_DECISION,
  },
  {
    rule: '... at the limit too',
    fault: 'at the limit a batch that got on is given up',
    file: DECISION,
    find: 'if (hasGrown) return',
    replace: 'if (hasGrown && batch.attempts < maxAttempts) return',
    specs: ON_DECISION,
  },
  {
    rule: 'Moved means done or failures',
    fault: 'failed tasks are no progress',
    file: DECISION,
    find: 'batch.completed + batch.failed > (batch.reclaimMark ?? 0)',
    replace: 'batch.completed > (batch.reclaimMark ?? 0)',
    specs: ON_DECISION,
  },
  {
    rule: 'Moved means done or failures',
    fault: 'a heartbeat is progress',
    file: DECISION,
    find: 'batch.completed + batch.failed > (batch.reclaimMark ?? 0)',
    replace: '(batch as BatchEntity).seq > 0',
    specs: [...ON_DECISION, ...ON_RECLAIM],
  },
  {
    rule: 'Moved means done or failures',
    fault: 'what was done before the last reclaim counts again',
    file: REPOSITORY,
    find: "':mark': observed.completed + (failures?.size ?? observed.failed),",
    replace: "':mark': 0,",
    specs: ON_ROWS,
  },
];

const VALIDATION: readonly Mutation[] = [
  {
    rule: 'leaves out those whose holder beats while they are watched',
    fault: 'validate lists a batch whose holder beats while it watches',
    file: 'src/batches/application/validate-leases.query.ts',
    find: ' && signatures.get(nameOfBatch(batch)) === leaseSignature(batch)',
    replace: '',
    specs: ['unit/batches/application/batch-views.spec.ts'],
  },
  {
    rule: 'tells how many are overdue when it is through',
    fault: 'the gauge counts a batch whose holder beats with a slow clock',
    file: STALE,
    find: 'return isStale(batch, unchangedMs, nowMs, { ttlMs: ttlMs + RECLAIM_GRACE_MS, heartbeatIntervalMs });',
    replace: 'return isLongSilent(batch, nowMs, ttlMs);',
    specs: ['unit/batches/domain/stale-batch.spec.ts', ...ON_TURN],
  },
];

const GIVING_UP: readonly Mutation[] = [
  {
    rule: 'Dead: results first, then the row, then counters',
    fault: 'the row is dead before its results are written',
    file: GIVE_UP,
    find: 'const resultKeys = await',
    replace:
      "const none = { key: 'none', size: 0 };\n" +
      '    await this.batches.giveUp(observed, { reclaimId, state, resultKeys: { succeeded: none, failed: none }, lastError });\n' +
      '    const resultKeys = await',
    specs: ON_GIVE_UP,
  },
  {
    rule: 'Dead: results first, then the row, then counters',
    fault: 'the counters come before the row',
    file: GIVE_UP,
    find: 'return writeOwnReclaim(',
    replace: 'await this.counter.countUp(jobId, observed, state, true);\n    return writeOwnReclaim(',
    specs: ON_GIVE_UP,
  },
];

export const RECLAIM_MUTATIONS: readonly Mutation[] = [...BLIND, ...APART, ...TAKING, ...JUDGING, ...VALIDATION, ...GIVING_UP];
