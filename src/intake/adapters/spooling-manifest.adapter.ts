import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { AppError, textLines } from '../../shared/index.js';
import { SourceReader } from '../../worker-pool/index.js';
import { ManifestPort, type ManifestReading, type SpooledManifest } from '../application/manifest.port.js';
import type { ExportRequest, RequestSource } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';
import { readManifest, type OpenManifest } from './manifest/index.js';

/** Where `export-worker submit` puts lists, under random names, in the export bucket. */
export const SUBMISSIONS_PREFIX = '_submissions/';

type ManifestSource = Extract<RequestSource, { kind: 'manifest' }>;

/**
 * Reads a manifest once, to its end, into a temporary file: the size of a batch depends on how many tasks there are, and
 * ten million do not fit into memory. The file is the normalised list, one JSON line a task.
 */
export class SpoolingManifestAdapter extends ManifestPort {
  constructor(
    private readonly sources: SourceReader,
    private readonly s3: S3Client,
    /** `folder`: for the files of open manifests · `timeoutMs`: for the whole of a manifest. */
    private readonly settings: { exportBucket: string; folder: string; timeoutMs: number },
  ) {
    super();
  }

  async spool({ source, destination }: ExportRequest, { signal, turn, onProgress }: ManifestReading): Promise<SpooledManifest> {
    if (source.kind === 'files')
      return { totalTasks: source.files.length, tasks: () => Readable.from(source.files), dispose: () => Promise.resolve() };
    const folder = await mkdtemp(join(this.settings.folder, 'export-manifest-'));
    const dispose = () => rm(folder, { recursive: true, force: true });
    const { timeoutMs } = this.settings;
    // A source that drips a byte a minute never stalls, and would keep its job alive for ever.
    const late = new AbortController();
    const limit = setTimeout(() => late.abort(tooSlow(timeoutMs)), timeoutMs);
    const whole = AbortSignal.any([signal, late.signal]);
    try {
      const tasks = readManifest(this.opener(source, whole, onProgress), {
        format: source.format,
        prefix: destination.prefix,
        signal: whole,
        turn,
        onProgress,
        hashesFile: join(folder, 'key-hashes'),
      });
      const file = join(folder, 'tasks.jsonl');
      const totalTasks = await writeTasks(tasks, file, whole);
      return { totalTasks, tasks: () => readTasks(file), dispose };
    } catch (error) {
      await dispose();
      if (!signal.aborted) late.signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(limit);
    }
  }

  /** `options.headers` are for the files: a manifest may lie on a host that must not see them. */
  private opener(source: ManifestSource, signal: AbortSignal, onWait: () => void): OpenManifest {
    const own = this.ownObject(source);
    if (own !== undefined) return () => this.openOwn(own, signal);
    return async () => (await this.sources.openSource(source.uri, { signal, onWait })).body;
  }

  /** Places that the operator named, not the message; everything else must pass the source guard. */
  private ownObject({ uri, trusted }: ManifestSource): { Bucket: string; Key: string } | undefined {
    const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(uri) ?? [];
    const submitted = bucket === this.settings.exportBucket && key.startsWith(SUBMISSIONS_PREFIX);
    return bucket !== '' && (trusted || submitted) ? { Bucket: bucket, Key: key } : undefined;
  }

  private async openOwn(object: { Bucket: string; Key: string }, abortSignal: AbortSignal): Promise<Readable> {
    try {
      const { Body } = await this.s3.send(new GetObjectCommand(object), { abortSignal });
      if (Body instanceof Readable) return Body;
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
      throw error;
    }
  }
}

function tooSlow(timeoutMs: number): AppError {
  return new AppError(
    'MANIFEST_TIMEOUT',
    `The manifest was not read to its end within ${timeoutMs / 1_000} s: its source is too slow, or TASK_TIMEOUT_MS too short`,
    { disposition: 'reject' },
  );
}

/** How many there are. */
async function writeTasks(tasks: AsyncIterable<ManifestTask[]>, file: string, signal: AbortSignal): Promise<number> {
  let totalTasks = 0;
  async function* lines(): AsyncIterable<string> {
    for await (const some of tasks) {
      totalTasks += some.length;
      yield `${some.map((task) => JSON.stringify(task)).join('\n')}\n`;
    }
  }
  await pipeline(lines(), createWriteStream(file), { signal });
  return totalTasks;
}

async function* readTasks(file: string): AsyncIterable<ManifestTask> {
  // The lines are this process's own, written a moment ago.
  for await (const line of textLines(createReadStream(file))) yield JSON.parse(line) as ManifestTask;
}
