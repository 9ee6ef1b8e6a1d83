import { toManifestTask, type ManifestEntry, type ManifestTask, type Naming } from '../../domain/manifest-task.js';

interface Place {
  line: number;
  /** In a JSON array, where many may share a line: 1 for the first. */
  element?: number;
}

/** One entry of a manifest as it was read, or why it could not be read. */
export type ManifestRow = (Place & { entry: ManifestEntry }) | (Place & { problem: string });

export type CheckedRow = { kind: 'task'; task: ManifestTask } | { kind: 'problem'; reason: string };

export function checkRow(row: ManifestRow, naming: Naming): CheckedRow {
  if ('problem' in row) return { kind: 'problem', reason: row.element === undefined ? row.problem : `${placeOf(row)}: ${row.problem}` };
  const outcome = toManifestTask(row.entry, naming);
  if (outcome.kind === 'task') return outcome;
  return checkRow({ ...row, problem: `${outcome.field} ${outcome.reason}` }, naming);
}

export function placeOf({ line, element }: Place): string {
  return element === undefined ? `line ${line}` : `element ${element}`;
}
