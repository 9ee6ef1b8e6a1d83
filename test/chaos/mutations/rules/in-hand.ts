import type { Mutation } from '../mutation.js';

const DISPATCHER = 'src/batches/application/task-dispatcher.service.ts';
const ON_DISPATCHER = ['unit/batches/application/task-dispatcher.service.spec.ts'];

/** What is told of files in hand counts nothing twice, and goes with whoever had them in hand. */
export const IN_HAND_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'The bytes in hand of a job hold nothing that a lost holder had in hand',
    fault: 'a batch without a holder keeps what the last one had in hand',
    file: 'src/export-jobs/domain/job-in-hand.ts',
    find: '(isRunning ? (batch.bytesInHand ?? 0) : 0)',
    replace: '(batch.bytesInHand ?? 0)',
    specs: ['unit/export-jobs/domain/job-in-hand.spec.ts'],
  },
  {
    rule: 'The bytes in hand of a job hold nothing twice when the batch was read before the job',
    fault: 'what the job has counted of a batch is not left out',
    file: 'src/export-jobs/domain/job-in-hand.ts',
    find: 'arrived - (job.batchProgress.get(batch.batchNo)?.bytes ?? 0)',
    replace: 'arrived',
    specs: ['unit/export-jobs/domain/job-in-hand.spec.ts'],
  },
  {
    rule: 'has nothing in hand and waits for nobody once it',
    fault: 'what a holder told of its work stays when the lease goes',
    file: 'src/batches/adapters/dynamo-db-batch-repository.adapter.ts',
    find: 'runningShard, bytesInHand, pausedMs, pausedHost',
    replace: 'runningShard',
    specs: ['conformance/batch-repository.spec.ts'],
  },
  {
    rule: 'tells the bytes of the last file, which it leaves out of the checkpoint, as in hand',
    fault: 'the last file is in hand no more before it is counted',
    file: 'src/batches/application/running-batch.ts',
    find: 'this.checkpoint.bytesLeftOut',
    replace: '0',
    specs: ['unit/batches/application/batch-lease.spec.ts'],
  },
  {
    rule: 'tells what has arrived of the files in hand, and of none twice',
    fault: 'a file stays in hand when its try is over',
    file: DISPATCHER,
    find: 'source.onTryEnd(position);',
    replace: '',
    specs: ['unit/batches/application/batch-lease.spec.ts'],
  },
  {
    rule: 'grows while files arrive, and counts none of their bytes twice',
    fault: 'each sign of progress counts all bytes of its try again',
    file: DISPATCHER,
    find: 'bytes - attempt.bytes);',
    replace: 'bytes);',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'writes one line for a pause, however many answers ask for it, and one for each host',
    fault: 'each answer that asks for patience writes a line',
    file: 'src/batches/application/pause-log.ts',
    find: 'if (now < last.until && until < last.until + SAME_END_MS) return true;',
    replace: '',
    specs: ['unit/batches/application/pause-log.spec.ts'],
  },
];
