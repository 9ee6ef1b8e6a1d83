import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskOutcome, TransferTask } from '../../../src/worker-pool/index.js';
import { SeededRandom } from '../../chaos/random.js';
import { mutatedAnswer, type MutatedAnswer } from '../../support/mutated-answer.js';
import { eventually } from '../../support/local-aws.js';
import { head, type RawAnswer } from '../../support/raw-origin.js';
import { BUCKET, MIB, pattern, TransferBench } from './pool-support.js';
import { FAR, QuickTransfers } from './quick-transfers.js';

const SEEDS = 300;
const AT_ONCE = 24;
/**
 * For answers that may never end. A busy machine may overrun them, so they are not for answers that
 * must arrive.
 */
const SHORT = { ...FAR, headersMs: 1_000, stallTimeoutMs: 1_000 };
const LARGE = pattern(9 * MIB);

describe('valid answers that were cut, reset, held up, reordered or changed on the wire', () => {
  let bench: TransferBench;
  let patient: QuickTransfers;
  let hasty: QuickTransfers;
  const stored: string[] = [];

  beforeAll(async () => {
    bench = await TransferBench.start();
    [patient, hasty] = [QuickTransfers.create(FAR), QuickTransfers.create(SHORT)];
  });
  afterAll(async () => {
    await Promise.all([patient.close(), hasty.close()]);
    await bench.close();
  });

  /** What is wrong with what became of this seed's answer, if anything is. */
  async function wrongWith(seed: number): Promise<string | undefined> {
    const random = new SeededRandom(seed, 'answer');
    const answer = mutatedAnswer(random, LARGE);
    const isProven = answer.needsProof || random.chance(0.5);
    const task = bench.task(bench.origin.on(`/${seed}`, answering(answer, random)), isProven ? proofOf(answer.body) : {});
    const outcome = await (answer.isWhole ? patient : hasty).run(task);
    if (outcome.success) stored.push(task.s3Key);
    const wrong = await judged(answer, task, outcome);
    return wrong === undefined ? undefined : `seed ${seed} (${answer.story}): ${wrong}; ${JSON.stringify(outcome)}`;
  }

  async function judged({ body, isWhole }: MutatedAnswer, task: TransferTask, outcome: TaskOutcome): Promise<string | undefined> {
    if (outcome.success) return (await bench.object(task)).equals(body) ? undefined : 'another object than the origin meant';
    if (isWhole) return 'a failure though nothing was changed';
    return outcome.error.code === 'INTERNAL' || outcome.error.code === 'TASK_TIMEOUT' ? 'no failure that its limits explain' : undefined;
  }

  it(`are the object that the origin meant, or a failure in time and no object (seeds 1 to ${SEEDS})`, async () => {
    const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
    const wrong: string[] = [];
    const work = async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const found = await wrongWith(seed);
        if (found !== undefined) wrong.push(found);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).toEqual([]);
    expect((await bench.keys()).sort()).toEqual(stored.sort());
    expect(bench.endpoint.openUploads(BUCKET)).toEqual([]);
    const next = bench.origin.file('/next', Buffer.from('next'));
    await eventually(async () => (await hasty.run(bench.task(next))).success);
  });
});

function proofOf(body: Buffer): Partial<TransferTask> {
  return { size: body.length, checksum: { algorithm: 'sha256', value: createHash('sha256').update(body).digest('hex') } };
}

/** The same to everyone who asks; to who asks for the rest either that, or one of the answers that are not it. */
function answering({ writes, ending, body, etag }: MutatedAnswer, random: SeededRandom): RawAnswer {
  const resumed = random.pick(['rest', 'rest', 'rest', 'whole', 'other version', 'other place', '416'] as const);
  return (socket, { headers }) => {
    const from = Number(/^bytes=(\d+)-$/.exec(headers['range'] ?? '')?.[1] ?? NaN);
    if (Number.isNaN(from) || headers['if-range'] !== etag) return void writeAll(socket, writes, ending);
    const rest = body.subarray(resumed === 'other place' ? from - 1 : from);
    const range = { 'content-range': `bytes ${body.length - rest.length}-${body.length - 1}/${body.length}` };
    const version = { etag: resumed === 'other version' ? '"v2"' : String(etag) };
    // The rest may be cut as well.
    const until = random.chance(0.3) ? random.integer(0, rest.length) : rest.length;
    if (resumed === '416') socket.write(head(416, { 'content-length': '0' }));
    else if (resumed === 'whole') socket.write(Buffer.concat([Buffer.from(head(200, { 'content-length': String(body.length) })), body]));
    else {
      socket.write(head(206, { 'content-length': String(rest.length), ...range, ...version }));
      socket.write(rest.subarray(0, until), () => until < rest.length && socket.end());
    }
  };
}

async function writeAll(socket: Socket, writes: MutatedAnswer['writes'], ending: MutatedAnswer['ending']): Promise<void> {
  for (const { bytes, waitMs } of writes) {
    if (waitMs > 0) await sleep(waitMs);
    if (!socket.writable) return;
    await new Promise((resolve) => socket.write(bytes, resolve));
  }
  if (ending !== undefined) socket[ending]();
}
