import { pathOf } from './content.js';

/** Lines of a manifest that are made at a time. */
const LINES = 1_000;
const DIGITS = 8;

/** A JSONL manifest of files of this origin, made as it is read: nobody holds it. */
export interface GeneratedManifest {
  tasks: number;
  sizeBytes: number;
}

export function manifestPathOf({ tasks, sizeBytes }: GeneratedManifest): string {
  return `/manifests/${tasks}/${sizeBytes}.jsonl`;
}

export function manifestAt(path: string): GeneratedManifest | undefined {
  const [, tasks, sizeBytes] = /^\/manifests\/(\d+)\/(\d+)\.jsonl$/.exec(path) ?? [];
  return sizeBytes === undefined ? undefined : { tasks: Number(tasks), sizeBytes: Number(sizeBytes) };
}

/** All lines are of one length: it is known before any is made. */
export function manifestBytes({ tasks, sizeBytes }: GeneratedManifest, originUrl: string): number {
  return tasks * lineOf(0, sizeBytes, originUrl).length;
}

export function* manifestPieces({ tasks, sizeBytes }: GeneratedManifest, originUrl: string): Generator<Buffer, void, void> {
  for (let first = 0; first < tasks; first += LINES) {
    const lines = Array.from({ length: Math.min(LINES, tasks - first) }, (_, line) => lineOf(first + line, sizeBytes, originUrl));
    yield Buffer.from(lines.join(''));
  }
}

function lineOf(index: number, sizeBytes: number, originUrl: string): string {
  const number = String(index).padStart(DIGITS, '0');
  const url = `${originUrl}${pathOf({ sizeBytes, variant: number })}`;
  return `${JSON.stringify({ url, key: `files/${number}.bin` })}\n`;
}
