import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { NodeContenderOrders, NodeContenderResult } from './node-contender.js';

/** A contender's process, from its own side. */
export async function readOrders(): Promise<NodeContenderOrders> {
  return JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as NodeContenderOrders;
}

export async function sayReadyAndWait(): Promise<void> {
  process.stdout.write('{"ready":true}\n');
  await once(process.stdin, 'data');
}

export function sayDone(result: NodeContenderResult): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
