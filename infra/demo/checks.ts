import { reasonOf } from '../../src/cli/index.js';
import type { Evidence, Totals } from './evidence.js';

export interface Check {
  name: string;
  /** None: passed. */
  problems: string[];
}

/** What must hold for every export, whatever its list. */
export function checkExport(evidence: Evidence): Check[] {
  return [
    { name: 'execution', problems: executionProblems(evidence) },
    { name: 'token', problems: tokenProblems(evidence) },
    { name: 'results', problems: resultProblems(evidence) },
    { name: 'objects', problems: objectProblems(evidence) },
    { name: 'uploads', problems: evidence.openUploads.map(({ key }) => `a multipart upload of ${key} was left open`) },
  ];
}

function executionProblems({ execution, job, results }: Evidence): string[] {
  const { status, error, cause, output } = execution;
  if (status !== 'SUCCEEDED') return [`${status} (${error ?? 'no error'}): ${reasonOf(cause)}`];
  return [
    ...(job?.status === 'COMPLETED' ? [] : [`the execution succeeded, but the job is ${job?.status ?? 'not there'}`]),
    ...totalsProblems('the output', output, results?.totals),
    ...totalsProblems('the job row', job, results?.totals),
  ];
}

function totalsProblems(
  name: string,
  found: Partial<Record<keyof Totals, number | undefined>> | undefined,
  expected: Totals | undefined,
): string[] {
  if (expected === undefined) return [`there is no manifest to compare ${name} with`];
  return (['totalTasks', 'completedTasks', 'failedTasks', 'bytesProcessed'] as const)
    .filter((field) => found?.[field] !== expected[field])
    .map((field) => `${field} is ${found?.[field]} in ${name} and ${expected[field]} in the manifest`);
}

/** One token, answered once: by the endpoint's book of tokens, and by its request log. */
function tokenProblems({ tokens, answers }: Evidence): string[] {
  const given = tokens.flatMap((token) => token.answers.map(({ kind, accepted }) => `${kind} ${accepted ? 'accepted' : 'refused'}`));
  const logged = answers.map(({ operation, status }) => `${operation} ${status}`);
  return [
    ...(tokens.length === 1 ? [] : [`${tokens.length} tokens were issued, not one`]),
    ...(given.length === 1 && given[0]?.endsWith('accepted') === true
      ? []
      : [`not one accepted answer, but: ${given.join(', ') || 'none'}`]),
    ...(logged.length === 1 && logged[0]?.endsWith(' 200') === true
      ? []
      : [`the request log has not one answer, but: ${logged.join(', ') || 'none'}`]),
  ];
}

/** The listed results against each other: as many lines as counted, each task once, each file as listed. */
export function resultProblems({ results, exportFolder }: Pick<Evidence, 'results' | 'exportFolder'>): string[] {
  if (results === undefined) return ['there is no manifest.json'];
  const { totals, succeeded, failed, failedManifest, files } = results;
  const indexes = [...succeeded, ...failed].map(({ index }) => index).sort((a, b) => a - b);
  return [
    ...(succeeded.length === totals.completedTasks
      ? []
      : [`${succeeded.length} SUCCEEDED lines for ${totals.completedTasks} completed tasks`]),
    ...(failed.length === totals.failedTasks ? [] : [`${failed.length} FAILED lines for ${totals.failedTasks} failed tasks`]),
    ...(failedManifest.length === failed.length
      ? []
      : [`${failedManifest.length} lines in failed.jsonl for ${failed.length} FAILED lines`]),
    ...(indexes.length === totals.totalTasks && indexes.every((index, at) => index === at) ? [] : ['the lines do not name each task once']),
    ...files.filter(({ Key, Size }) => exportFolder.get(Key) !== Size).map(({ Key }) => `${Key} is missing or of another size than listed`),
  ];
}

/** The bytes read back against the result lines, and nothing but them. */
export function objectProblems({ results, objects }: Pick<Evidence, 'results' | 'objects'>): string[] {
  const lines = new Map(results?.succeeded.map((line) => [line.key, line]));
  const problems: string[] = [];
  for (const [key, { size, sha256 }] of lines) {
    const object = objects.get(key);
    if (object === undefined) problems.push(`${key} is said to have succeeded, but is not there`);
    else if (object.size !== size || (sha256 !== null && object.sha256 !== sha256))
      problems.push(`${key} has other bytes than its result line says`);
  }
  for (const key of objects.keys()) if (!lines.has(key)) problems.push(`${key} is there, but no result line names it`);
  return problems;
}
