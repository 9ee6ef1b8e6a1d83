import type { Mutation } from '../mutation.js';

const TURNS = 'src/intake/application/expansion-turns.ts';
const LISTS = 'src/intake/application/open-lists.ts';
const PROGRESS = 'src/intake/application/expansion-progress.ts';
const CONSUMER = 'src/intake/adapters/export-job.consumer.ts';
const PLANNING = 'src/intake/application/plan-expansion.use-case.ts';
const BUDGET = 'src/intake/adapters/spool-budget.ts';
const HAND_ON = 'src/intake/adapters/job-hand-on.ts';
const READING = 'src/intake/adapters/manifest/read-manifest.ts';
const HASHES = 'src/intake/adapters/manifest/key-hashes.ts';
const ON_LISTS = ['unit/intake/application/open-lists.spec.ts'];
const ON_PROGRESS = ['unit/intake/application/expansion-progress.spec.ts'];
const ON_CONSUMER = ['unit/intake/adapters/export-job.consumer.spec.ts'];
const ON_SPOOL_FOLDERS = ['unit/intake/adapters/spool-folders.spec.ts'];
const ON_READING = ['unit/intake/adapters/manifest/read-manifest.spec.ts'];
const ON_SPOOLING = ['unit/intake/adapters/spooling-manifest.adapter.spec.ts'];

export const INTAKE_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'Waits without a place',
    fault: 'a list holds its place while its source is silent',
    file: TURNS,
    find: 'this.waits++;\n    this.giveBack();',
    replace: 'this.waits++;',
    specs: ON_SPOOLING,
  },
  {
    rule: 'Waits without a place',
    fault: 'a list is waited for with its place once it is open',
    file: READING,
    find: 'await turn.whileWaiting(() => source.next());',
    replace: 'await source.next();',
    specs: ON_SPOOLING,
  },
  {
    rule: 'Half for one host',
    fault: 'the lists of one host may be all that are open',
    file: LISTS,
    find: 'this.maxOfHost = Math.ceil(max / 2);',
    replace: 'this.maxOfHost = max;',
    specs: ON_LISTS,
  },
  {
    rule: 'Without progress a look, no stamp',
    fault: 'a source that says nothing keeps its job alive',
    file: PROGRESS,
    find: 'if (this.hasMoved || this.lines > 0) {',
    replace: 'if (this.lines >= 0) {',
    specs: ON_PROGRESS,
  },
  {
    rule: 'Waiting in line is progress',
    fault: 'a job fails because the lists before it take long',
    file: PROGRESS,
    find: 'if (this.hasMoved || this.lines > 0) {',
    replace: 'if (this.hasMoved) {',
    specs: ON_PROGRESS,
  },
  {
    rule: 'Copy first, then delete',
    fault: 'the copy is never sent',
    file: HAND_ON,
    find: 'await this.queue.send({ body, delayS: decision.delayS, attributes: { [HAND_ONS]: String(next) } });',
    replace: '',
    specs: ON_CONSUMER,
  },
  {
    rule: 'Copy first, then delete',
    fault: 'a receive is spent instead',
    file: CONSUMER,
    find: 'handOn.handOn(message, request.jobId, leaving));',
    replace:
      "handOn.handOn(message, request.jobId, leaving).then((left) => { if (left) throw new AppError('LEFT', 'left', { disposition: 'yield' }); return left; }));",
    specs: ON_CONSUMER,
  },
  {
    rule: 'Stamped before it leaves',
    fault: 'a job that is postponed again and again looks as if it stood still',
    file: HAND_ON,
    find: "if (decision.kind === 'wait' || !(await stamp())) return false;",
    replace: "if (decision.kind === 'wait') return false;",
    specs: ON_CONSUMER,
  },
  {
    rule: 'The eldest keep their places',
    fault: 'whoever has waited longest is postponed for those behind it',
    file: LISTS,
    find: 'mayLeave(this.line.indexOf(me) + 1)',
    replace: 'mayLeave(this.line.length)',
    specs: ON_LISTS,
  },
  {
    rule: 'One job’s fault slows no receive',
    fault: 'lists and buckets that fail slow the receiving of other jobs down',
    file: CONSUMER,
    find: '|| isYielded(error) || error instanceof JobSetback) return;',
    replace: '|| isYielded(error)) return;',
    specs: ON_CONSUMER,
  },
  {
    rule: 'One job’s fault slows no receive',
    fault: 'a bucket that takes no segment now counts as a failure of this process',
    file: PLANNING,
    find: 'throw setbackOfWrite(error, signal);',
    replace: 'throw error;',
    specs: ON_CONSUMER,
  },
  {
    rule: 'DestinationRefused',
    fault: 'a job whose segments are refused spends its five receives',
    file: 'src/intake/application/despite-refusals.ts',
    find: 'if (refusals === MAX_REFUSALS) throw destinationRefused(last);',
    replace: 'if (refusals === MAX_REFUSALS) throw last;',
    specs: ['unit/intake/application/expand-job.use-case.spec.ts', 'unit/intake/application/accept-job.use-case.spec.ts'],
  },
  {
    rule: 'DestinationRefused',
    fault: 'a bucket that refuses keeps a place of the intake while it is given time',
    file: PLANNING,
    find: 'turn.whileWaiting(() => clock.sleep(ms, signal));',
    replace: 'clock.sleep(ms, signal);',
    specs: ['unit/intake/application/expand-job.use-case.spec.ts'],
  },
  {
    rule: 'Aborted in any wait',
    fault: 'the files of a list stay when its job is cancelled',
    file: 'src/intake/adapters/spooling-manifest.adapter.ts',
    find: 'await dispose();\n      if (!signal.aborted)',
    replace: 'if (!signal.aborted)',
    specs: ON_SPOOLING,
  },
  {
    rule: 'A start removes the lists of killed processes',
    fault: 'those of a living process go, too',
    file: 'src/intake/adapters/spool-folders.ts',
    find: '(Number(pid) === this.self.pid || !this.isAlive(Number(pid)))',
    replace: 'Number(pid) > 0',
    specs: ON_SPOOL_FOLDERS,
  },
  {
    rule: 'A start removes the lists of killed processes',
    fault: 'those of another container on the same disk go, too',
    file: 'src/intake/adapters/spool-folders.ts',
    find: 'host === hostTag(this.self)',
    replace: 'host !== undefined',
    specs: ON_SPOOL_FOLDERS,
  },
  {
    rule: 'is no field of a message: is it meant to be',
    fault: 'a misspelt field at the top is ignored',
    file: 'src/intake/adapters/export-job-message.schema.ts',
    find: 'if (typos.length > 0) return unusable(json, typos);',
    replace: 'if (typos.length > 100) return unusable(json, typos);',
    specs: ['unit/intake/adapters/export-job-message.schema.spec.ts'],
  },
  {
    rule: 'A body that leaves no room for the reason is cut',
    fault: 'a body near the limit of SQS leaves no room for the reason',
    file: 'src/intake/adapters/sqs-dead-letter.adapter.ts',
    find: 'cut ? cutTo(message, maxBytes) : message',
    replace: 'message',
    specs: ['unit/intake/adapters/sqs-dead-letter.adapter.spec.ts'],
  },
  {
    rule: 'Its source’s time alone counts',
    fault: 'a list fails for its slow source when it was our places that it waited for',
    file: 'src/intake/adapters/source-time.ts',
    find: 'return this.turn.whileWaiting(() => this.time.during(wait));',
    replace: 'return this.time.during(() => this.turn.whileWaiting(wait));',
    specs: ON_SPOOLING,
  },
  {
    rule: 'Unread is not silent',
    fault: 'S3 lists that stand in line for a minute are cut',
    file: 'src/platform/aws/aws-clients.ts',
    find: 'handler(s3TimeoutMs, openLists, NO_TIMEOUT)',
    replace: 'handler(s3TimeoutMs, openLists)',
    specs: ['integration/own-lists.spec.ts'],
  },
  {
    rule: 'The eldest long list never waits',
    fault: 'lists that fill the budget together wait for each other for ever',
    file: BUDGET,
    find: 'if (share !== eldest && this.usedBytes',
    replace: 'if (share !== undefined && eldest !== undefined && this.usedBytes',
    specs: ['unit/intake/adapters/spool-budget.spec.ts'],
  },
  {
    rule: 'Small lists never wait',
    fault: 'a short list waits until long ones have come to their end',
    file: BUDGET,
    find: 'if (more <= 0) return undefined;',
    replace: '',
    specs: ['unit/intake/adapters/spool-budget.spec.ts'],
  },
  {
    rule: 'Keys in a file',
    fault: 'each open list holds all of its keys in memory',
    file: HASHES,
    find: 'if (this.blocks.length < MAX_BLOCKS) return;',
    replace: 'if (this.blocks.length < MAX_BLOCKS * 1_000) return;',
    specs: ['unit/intake/adapters/manifest/duplicate-keys.spec.ts'],
  },
  {
    rule: 'One line never decides a format',
    fault: 'a list that may be of URLs and names is taken for one of URLs',
    file: 'src/intake/adapters/manifest/line-manifests.ts',
    find: 'const SEPARATES = /[,;\\t]|^"/;',
    replace: 'const SEPARATES = /^"/;',
    specs: ON_READING,
  },
  {
    rule: 'keys given twice are found in every format',
    fault: 'another file under the same key is left out as if it were the same',
    file: 'src/intake/adapters/manifest/duplicate-keys.ts',
    find: "if (repeat === 'same')",
    replace: 'if (repeat)',
    specs: ON_READING,
  },
  {
    rule: 'holds a file once that the list has twice',
    fault: 'a file that is there twice is stored twice, and the job counts more files than it has',
    file: 'src/intake/adapters/spooling-manifest.adapter.ts',
    find: 'if (repeated?.has(ordinal++) !== true) yield',
    replace: 'yield',
    specs: ON_SPOOLING,
  },
  {
    rule: 'which has no file, unless that is in order',
    fault: 'a list that came out empty is a job that succeeds',
    file: READING,
    find: 'if (isEmpty && options.allowEmpty !== true)',
    replace: 'if (isEmpty && options.allowEmpty === false)',
    specs: ON_READING,
  },
  {
    rule: 'names the line, the reason and the mend',
    fault: 'a name that is twice in an entry takes its last value silently',
    file: 'src/intake/adapters/manifest/names-once.ts',
    find: 'if (names?.has(token.value) === true)',
    replace: 'if (names === undefined)',
    specs: ON_READING,
  },
  {
    rule: 'from where the service takes no list',
    fault: 'submit sends the address of a list that the service refuses',
    file: 'src/cli/upload-manifest.ts',
    find: 'object.key.includes(EXPORT_FOLDER) ? undefined : list',
    replace: 'list',
    specs: ['unit/cli/program.spec.ts'],
  },
];
