import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { SECRET, type ExportFixture } from './export-fixture.js';

export interface GatedJob {
  arn: string;
  jobId: string;
  total: number;
  /** Lets every file be answered. */
  open: () => void;
  /**
   * Requests that their client ended before they were answered, in order. More than stood at the gate when a batch leaves its places to
   * another one, which is then let go, too.
   */
  cutOff: { index: number; atMs: number }[];
  /** How often a file has been asked for. */
  hitsOf: (index: number) => number;
}

/**
 * A job of `total` files. Whichever `atOnce` come first are answered at once, the others when the gate opens.
 * Resolves when `waiting` requests stand at the gate. Silent requests give their places up, so only `maxConcurrency` bounds how many a
 * coordinator has at the gate.
 */
export async function startGatedJob(
  fixture: ExportFixture,
  { total, atOnce, waiting, ...options }: { total: number; atOnce: number; waiting: number; maxConcurrency?: number },
): Promise<GatedJob> {
  const gate = deferred();
  const cutOff: GatedJob['cutOff'] = [];
  let asked = 0;
  const files = Array.from({ length: total }, (_, index) => ({
    url: fixture.origin.on(`/file/${index}`, (_request, response) => {
      response.once('close', () => {
        if (!response.writableFinished) cutOff.push({ index, atMs: Date.now() });
      });
      const open = ++asked <= atOnce ? Promise.resolve() : gate.promise;
      void open.then(() => send(response, Buffer.from(`file ${index} ${SECRET}`)));
    }),
    key: `file/${index}`,
  }));
  const execution = await fixture.startExecution({ source: { files }, options });
  await eventually(() => asked >= atOnce + waiting && fixture.origin.openRequests >= waiting);
  return { ...execution, total, open: gate.resolve, cutOff, hitsOf: (index) => fixture.origin.hitsOf(`/file/${index}`) };
}

/** The coordinators that hold batches of the job now, each with its batches. */
export async function holdersOf(fixture: ExportFixture, { jobId }: { jobId: string }): Promise<Map<string, number[]>> {
  const running = (await fixture.batchRows(jobId)).filter(({ status }) => status === 'running');
  const holders = new Map<string, number[]>();
  for (const { lockedBy, batchNo } of running) holders.set(String(lockedBy), [...(holders.get(String(lockedBy)) ?? []), Number(batchNo)]);
  return holders;
}
