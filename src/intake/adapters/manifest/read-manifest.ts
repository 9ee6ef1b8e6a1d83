import { addAbortSignal, type Readable } from 'node:stream';
import { AppError, chunksOf } from '../../../shared/index.js';
import type { ExpansionTurn } from '../../application/expansion-turns.js';
import type { ListReading } from '../../domain/export-request.js';
import type { ManifestTask, Naming } from '../../domain/manifest-task.js';
import { plainName } from './column-names.js';
import { readCsv } from './csv-manifest.js';
import { DuplicateKeys } from './duplicate-keys.js';
import { KeyHashes } from './key-hashes.js';
import { readJsonArray } from './json-manifest.js';
import { readJsonl, readList, readTsvHttpData, readUnnamed } from './line-manifests.js';
import { isBrokenGzip, openManifest } from './manifest-bytes.js';
import { ProblemList } from './manifest-error.js';
import { sniffFormat } from './manifest-format.js';
import { checkRow, type ManifestRow } from './manifest-row.js';
import { BROKEN_TEXT } from './manifest-text.js';
import type { RepeatedTasks } from './repeated-tasks.js';

const TASKS_AT_ONCE = 1_000;
const MAX_TASKS = 10_000_000;

const READERS = {
  list: readList,
  unnamed: readUnnamed,
  jsonl: readJsonl,
  json: readJsonArray,
  csv: readCsv,
  'tsv-http-data': readTsvHttpData,
};
const ZIP = 'PK\u0003\u0004';

export interface ReadManifestOptions extends ListReading, Naming {
  signal: AbortSignal;
  /** Given back while the source is waited for, and after each chunk that was read. */
  turn: ExpansionTurn;
  /** Called with each chunk that comes from the source. */
  onProgress: () => void;
  /** Where the hashes of a long list's keys are kept; its owner removes it. */
  hashesFile: string;
  /** Called at the end with the tasks that were yielded, but are there twice word for word: they are to be left out. */
  onRepeats: (repeated: RepeatedTasks) => void;
  maxTasks?: number;
}

/** The manifest's bytes, from the beginning. */
export type OpenManifest = () => Promise<Readable>;

/**
 * Streams a manifest, plain or gzipped, as arrays of at most 1,000 tasks. They count only once the generator has ended well: it reads to
 * the end to find every problem, and yields nothing more after the first.
 *
 * `open` is called a second time only when a key seems to be there twice, to prove it (see DuplicateKeys).
 *
 * @throws ManifestError when the manifest is at fault; AppError `MANIFEST_CHANGED` (retry) when the second reading is of another one;
 * what `open` and its stream throw, an AbortError once the signal is aborted among it
 */
export async function* readManifest(open: OpenManifest, options: ReadManifestOptions): AsyncGenerator<ManifestTask[]> {
  const problems = new ProblemList();
  const duplicates = new DuplicateKeys(new KeyHashes(options.hashesFile), options.keyFrom);
  let isEmpty = true;
  for await (const rows of readRows(open, options)) {
    const tasks: ManifestTask[] = [];
    for (const row of rows) {
      const checked = checkRow(row, options);
      if (checked.kind === 'task') {
        duplicates.note(checked.task);
        tasks.push(checked.task);
      } else problems.add(row.line, checked.reason);
    }
    isEmpty &&= rows.length === 0;
    await duplicates.keep();
    if (problems.isEmpty) yield* chunksOf(tasks, TASKS_AT_ONCE);
  }
  if (isEmpty && options.allowEmpty !== true) problems.add(1, NO_FILE);
  await duplicates.suspect(options.turn);
  if (duplicates.suspected) await prove(duplicates, problems, open, options);
  problems.throwIfAny();
  options.onRepeats(duplicates.repeatedTasks);
}

const NO_FILE = 'the list has no file: check its address, or say that this is in order (source.allowEmpty: true, or --allow-empty)';

async function prove(duplicates: DuplicateKeys, problems: ProblemList, open: OpenManifest, options: ReadManifestOptions): Promise<void> {
  for await (const rows of readRows(open, options)) {
    for (const row of rows) {
      const checked = checkRow(row, options);
      if (checked.kind === 'task') duplicates.prove(checked.task, row);
    }
  }
  const { verdict } = duplicates;
  if (verdict.kind === 'changed')
    throw new AppError('MANIFEST_CHANGED', 'The manifest changed while it was read', { disposition: 'retry' });
  problems.merge(verdict.problems, verdict.total);
}

async function* readRows(open: OpenManifest, options: ReadManifestOptions): AsyncGenerator<ManifestRow[]> {
  const { format, ignoreColumns = [], signal, turn, onProgress, maxTasks = MAX_TASKS } = options;
  const ignored = new Set(ignoreColumns.map(plainName));
  const body = addAbortSignal(signal, await turn.whileWaiting(open));
  let count = 0;
  let line = 1;
  try {
    const { start, bytes } = await turn.whileWaiting(() => openManifest(tellingOf(body, onProgress)));
    if (start.startsWith(ZIP)) {
      yield [{ line, problem: 'the list is a ZIP archive or an Excel workbook: unpack it, or save it as CSV' }];
      return;
    }
    for await (const rows of READERS[format ?? sniffFormat(start)](inTurns(bytes, turn), ignored)) {
      count += rows.length;
      line = rows.at(-1)?.line ?? line;
      if (count > maxTasks) {
        yield [...rows.slice(0, maxTasks - count), { line, problem: `more than ${maxTasks} tasks: split the export into several jobs` }];
        return;
      }
      yield rows;
    }
  } catch (error) {
    if (isBrokenGzip(error)) yield [{ line, problem: 'the gzip data is broken here or soon after: compress the manifest again' }];
    else if (isBrokenText(error)) yield [{ line, problem: 'the text is no UTF-16 here or soon after: save the manifest as UTF-8' }];
    else throw error;
  } finally {
    body.destroy();
  }
}

async function* tellingOf(chunks: AsyncIterable<Buffer>, onProgress: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onProgress();
    yield chunk;
  }
}

/** Each chunk is waited for without a place, and read with one. */
async function* inTurns(chunks: AsyncIterable<Buffer>, turn: ExpansionTurn): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await turn.whileWaiting(() => source.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await source.return?.();
  }
}

function isBrokenText(error: unknown): boolean {
  return error instanceof AppError && error.code === BROKEN_TEXT;
}
