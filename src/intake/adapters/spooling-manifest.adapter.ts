import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { toStoreError } from '../../platform/s3/index.js';
import { AppError, textLines, type Clock } from '../../shared/index.js';
import { parseS3Uri, watchedBody, type SourceReader } from '../../worker-pool/index.js';
import type { ExpansionTurn } from '../application/expansion-turns.js';
import { ManifestPort, type ManifestReading, type SpooledManifest } from '../application/manifest.port.js';
import type { ExportRequest, RequestSource } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';
import { HASH_BYTES, readManifest, type OpenManifest, type RepeatedTasks } from './manifest/index.js';
import { SourceTime, TimedTurn } from './source-time.js';
import { makeSpoolFolder } from './spool-folders.js';
import { SpoolBudget, type SpoolShare } from './spool-budget.js';

/** Where `export-worker submit` puts lists, under random names, in the export bucket. */
export const SUBMISSIONS_PREFIX = '_submissions/';

/** The disk is full, or the part of it that this process may use. */
const NO_SPACE = ['ENOSPC', 'EDQUOT'];

type ManifestSource = Extract<RequestSource, { kind: 'manifest' }>;

/**
 * Reads a manifest once, to its end, into a temporary file: the size of a batch depends on how many tasks there are, and
 * ten million do not fit into memory. The file is the normalised list, one JSON line a task.
 */
export class SpoolingManifestAdapter extends ManifestPort {
  private readonly budget: SpoolBudget;

  constructor(
    private readonly sources: Pick<SourceReader, 'openSource'>,
    /** Cuts no body that nobody reads for a while. */
    private readonly s3: S3Client,
    /**
     * `folder`: for the files of open manifests · `timeoutMs`: how long a manifest's source may take
     * in all · `maxSpoolBytes`: for the files of all open manifests, see SpoolBudget.
     */
    private readonly settings: { exportBucket: string; folder: string; timeoutMs: number; maxSpoolBytes: number },
    private readonly clock: Clock,
  ) {
    super();
    this.budget = new SpoolBudget(settings.maxSpoolBytes);
  }

  async spool({ source, destination }: ExportRequest, { signal, turn, onProgress }: ManifestReading): Promise<SpooledManifest> {
    if (source.kind === 'files')
      return {
        totalTasks: source.files.length,
        repeatedTasks: 0,
        tasks: () => Readable.from(source.files),
        dispose: () => Promise.resolve(),
      };
    const folder = await makeSpoolFolder(this.settings.folder).catch((error: unknown) => {
      throw this.orDiskFull(error);
    });
    const share = this.budget.share();
    const dispose = async () => {
      try {
        await rm(folder, { recursive: true, force: true });
      } finally {
        share.release();
      }
    };
    // A source that drips a byte a minute never stalls, and would keep its job alive for ever.
    const time = new SourceTime(this.settings.timeoutMs, this.clock);
    const whole = AbortSignal.any([signal, time.isOver]);
    const timed = new TimedTurn(turn, time);
    try {
      let repeated: RepeatedTasks | undefined;
      const tasks = readManifest(this.opener(source, whole, onProgress), {
        ...source.reading,
        prefix: destination.prefix,
        signal: whole,
        turn: timed,
        onProgress,
        hashesFile: join(folder, 'key-hashes'),
        onRepeats: (found) => (repeated = found),
      });
      const file = join(folder, 'tasks.jsonl');
      const written = await writeTasks(tasks, file, { signal: whole, turn: timed, share });
      const repeatedTasks = repeated?.count ?? 0;
      return { totalTasks: written - repeatedTasks, repeatedTasks, tasks: () => readTasks(file, repeated), dispose };
    } catch (error) {
      await dispose();
      if (!signal.aborted) time.isOver.throwIfAborted();
      throw this.orDiskFull(error);
    }
  }

  /** `options.headers` are for the files: a manifest may lie on a host that must not see them. */
  private opener(source: ManifestSource, signal: AbortSignal, onWait: ManifestReading['onProgress']): OpenManifest {
    const own = this.ownObject(source);
    if (own !== undefined) return () => this.openOwn(own, signal);
    return async () => (await this.sources.openSource(source.uri, { signal, onWait })).body;
  }

  /** Places that the operator named, not the message; everything else must pass the source guard. */
  private ownObject({ uri, trusted }: ManifestSource): { Bucket: string; Key: string } | undefined {
    const { bucket = '', key = '' } = parseS3Uri(uri) ?? {};
    const submitted = bucket === this.settings.exportBucket && key.startsWith(SUBMISSIONS_PREFIX);
    return bucket !== '' && (trusted || submitted) ? { Bucket: bucket, Key: key } : undefined;
  }

  private async openOwn(object: { Bucket: string; Key: string }, abortSignal: AbortSignal): Promise<Readable> {
    try {
      const { Body, ContentLength: size } = await this.s3.send(new GetObjectCommand(object), { abortSignal });
      if (Body instanceof Readable) return watchedBody(Body, { signal: abortSignal, ...(size === undefined ? {} : { size }) });
      throw new AppError('MANIFEST_UNREADABLE', 'The manifest has no body', { disposition: 'retry' });
    } catch (error) {
      if (error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NoSuchBucket'))
        throw new AppError(
          'MANIFEST_MISSING',
          `There is no manifest at s3://${object.Bucket}/${object.Key}: write it before the message is sent`,
          {
            disposition: 'reject',
            cause: error,
          },
        );
      if (error instanceof AppError || abortSignal.aborted) throw error;
      throw toStoreError({ bucket: object.Bucket, key: object.Key, permission: 's3:GetObject' }, error);
    }
  }

  private orDiskFull(cause: unknown): unknown {
    if (!(cause instanceof Error && 'code' in cause && NO_SPACE.includes(String(cause.code)))) return cause;
    const mend = 'Give the process more disk (ephemeralStorage of a Fargate task), or lower MAX_SPOOL_MB or MAX_OPEN_LISTS';
    return new AppError('SPOOL_FULL', `There is no space left in ${this.settings.folder} for the tasks of a list. ${mend}`, {
      disposition: 'retry',
      cause,
    });
  }
}

/** How many there are. */
async function writeTasks(
  tasks: AsyncIterable<ManifestTask[]>,
  file: string,
  { signal, turn, share }: { signal: AbortSignal; turn: ExpansionTurn; share: SpoolShare },
): Promise<number> {
  let totalTasks = 0;
  async function* lines(): AsyncIterable<string> {
    for await (const some of tasks) {
      totalTasks += some.length;
      const text = `${some.map((task) => JSON.stringify(task)).join('\n')}\n`;
      // The hashes of the keys lie beside the tasks.
      const room = share.grow(Buffer.byteLength(text) + some.length * HASH_BYTES);
      if (room !== undefined) await turn.whileInLine(() => room(signal));
      yield text;
    }
  }
  await pipeline(lines(), createWriteStream(file), { signal });
  return totalTasks;
}

async function* readTasks(file: string, repeated: RepeatedTasks | undefined): AsyncIterable<ManifestTask> {
  let ordinal = 0;
  // The lines are this process's own, written a moment ago.
  for await (const line of textLines(createReadStream(file))) if (repeated?.has(ordinal++) !== true) yield JSON.parse(line) as ManifestTask;
}
