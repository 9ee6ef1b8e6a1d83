import { createHash, randomUUID } from 'node:crypto';
import { CreateStateMachineCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { exportStateMachine } from '../../../infra/state-machine/index.js';
import { deferred } from '../../support/deferred.js';
import { send, sha256, type Answer } from '../../support/origin.js';
import { SECRET } from '../../support/standing-rules.js';
import type { ExpectedFile } from '../chaos-job.js';
import type { World } from '../world.js';

/**
 * - `small`
 * - `large`: uploaded in two parts
 * - `missing`: never there
 * - `late`: there once `arrive` was called
 * - `slow`: comes once `hurry` was called
 * - `held`: its first request is never answered, the others at once
 */
export type CrashFile = 'small' | 'large' | 'missing' | 'late' | 'slow' | 'held';

const WAITING: readonly CrashFile[] = ['slow', 'held'];

export type CrashStatus = 'COMPLETED' | 'FAILED';

/** What dies here is back within seconds, on a machine with nothing else to do: a busy one must not be what ends a job. */
export const PATIENCE = { queueVisibilityS: 5, heartbeatSeconds: 240 };
const SMALL_BYTES = 1_000;
const LARGE_BYTES = 8 * 1_048_576 + SMALL_BYTES;

interface ServedFile {
  kind: CrashFile;
  key: string;
  /** At the origin. */
  path: string;
  sizeBytes: number;
}

/** A job of a few files, and what must come of it. */
export class CrashJob {
  private hasArrived = false;
  private readonly hurried = deferred();

  private constructor(
    private readonly world: World,
    private readonly files: readonly ServedFile[],
    private readonly input: string,
    /** Its executions, the oldest first: more than one once it was started again. */
    readonly executionArns: [string, ...string[]],
  ) {}

  static async start(world: World, kinds: readonly CrashFile[]): Promise<CrashJob> {
    const folder = randomUUID().slice(0, 8);
    const files = kinds.map((kind, index) => {
      const key = `${folder}/${index}`;
      return { kind, key, path: `/${key}`, sizeBytes: kind === 'large' ? LARGE_BYTES : SMALL_BYTES };
    });
    const request = {
      exportId: 'crashes',
      userId: 'crashes',
      source: { files: files.map(({ key, path }) => ({ url: `${world.origin.url}${path}?signature=${SECRET}`, key })) },
      options: { headers: { 'x-api-key': SECRET } },
    };
    const input = JSON.stringify(request);
    const job = new CrashJob(world, files, input, ['']);
    for (const file of files) world.origin.on(file.path, job.answerTo(file));
    job.executionArns[0] = await execute(world, world.aws.resources.stateMachineArn, input);
    return job;
  }

  /** The execution's name. */
  get jobId(): string {
    return nameOf(this.executionArns[0]);
  }

  get executionArn(): string {
    return this.executionArns.at(-1) ?? this.executionArns[0];
  }

  get prefix(): string {
    return `exports/${this.jobId}/`;
  }

  get expected(): ExpectedFile[] {
    return this.files.map(({ kind, key, sizeBytes }) =>
      kind === 'missing' || (kind === 'late' && !this.hasArrived)
        ? { key, code: 'HTTP_404' }
        : { key, sizeBytes, sha256: sha256(bytesOf(key, sizeBytes)) },
    );
  }

  get expectedTotals() {
    const sizes = this.expected.flatMap((file) => ('sizeBytes' in file ? [file.sizeBytes] : []));
    return {
      totalTasks: this.files.length,
      completedTasks: sizes.length,
      failedTasks: this.files.length - sizes.length,
      bytesProcessed: sizes.reduce((sum, size) => sum + size, 0),
    };
  }

  get expectedStatus(): CrashStatus {
    return this.expectedTotals.failedTasks === 0 ? 'COMPLETED' : 'FAILED';
  }

  /** Whether each file that does not come by itself has been asked for. */
  get isHeld(): boolean {
    return this.files.every(({ kind, path }) => !WAITING.includes(kind) || this.world.origin.hitsOf(path) > 0);
  }

  /** Tasks that nothing holds. */
  get quickTasks(): number {
    return this.files.filter(({ kind }) => !WAITING.includes(kind)).length;
  }

  /** What was late is there. */
  arrive(): void {
    this.hasArrived = true;
  }

  hurry(): void {
    this.hurried.resolve();
  }

  /** The same request under the same name, with a token of its own, as a redrive makes it. */
  async startAgain(): Promise<void> {
    const { clients, aws } = this.world;
    const definition = exportStateMachine({ jobsQueueUrl: aws.resources.jobsQueueUrl, ...PATIENCE });
    // A name is taken once for each machine.
    const { stateMachineArn = '' } = await clients.states.send(
      new CreateStateMachineCommand({
        name: `again-${this.executionArns.length}`,
        definition,
        roleArn: 'arn:aws:iam::000000000000:role/again',
      }),
    );
    this.executionArns.push(await execute(this.world, stateMachineArn, this.input, this.jobId));
  }

  private answerTo({ kind, key, sizeBytes }: ServedFile): Answer {
    return (_request, response, hit) => {
      if (kind === 'held' && hit === 1) return;
      if (kind === 'missing' || (kind === 'late' && !this.hasArrived)) response.writeHead(404).end('not here');
      else if (kind === 'slow') void this.hurried.promise.then(() => send(response, bytesOf(key, sizeBytes)));
      else send(response, bytesOf(key, sizeBytes));
    };
  }
}

async function execute({ clients }: World, stateMachineArn: string, input: string, name?: string): Promise<string> {
  const named = name === undefined ? {} : { name };
  const { executionArn = '' } = await clients.states.send(new StartExecutionCommand({ stateMachineArn, input, ...named }));
  return executionArn;
}

function nameOf(executionArn: string): string {
  return executionArn.slice(executionArn.lastIndexOf(':') + 1);
}

/** Begins with the secret, which must not get into a log; no two files are alike. */
function bytesOf(key: string, sizeBytes: number): Buffer {
  const head = Buffer.from(`${SECRET} ${key} `);
  return Buffer.concat([head, Buffer.alloc(sizeBytes - head.length, createHash('sha512').update(key).digest())]);
}
