import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { cpuSecondsOfEndedChildren } from '../../processes/cpu.js';
import { cleanEnvironment } from '../../processes/talking-process.js';
import { BenchError } from '../../report/bench-error.js';
import type { Ends } from '../../transfers/ends.js';
import { asRcloneCsv, type PlannedFile } from '../../transfers/transfer-plan.js';
import type { Contender, Limits, RunFigures } from '../contender.js';
import { BUCKET } from '../node-contender.js';
import { builtRclone, RCLONE_VERSION } from './build-rclone.js';
import { rcloneArguments, rcloneEnvironment } from './rclone-arguments.js';

/** Undefined when it cannot be built here. */
export async function rclone(): Promise<Contender | undefined> {
  const binary = await builtRclone();
  if (binary === undefined) return undefined;
  return { name: 'rclone', version: RCLONE_VERSION, run: (...given) => runRclone(binary, ...given) };
}

/** The whole process, its start (some tens of milliseconds) included. */
async function runRclone(binary: string, files: readonly PlannedFile[], ends: Ends, limits: Limits): Promise<RunFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const csv = join(folder, 'files.csv');
    await writeFile(csv, asRcloneCsv(files));
    const env = { ...cleanEnvironment(), ...rcloneEnvironment(ends.sinkUrl, folder) };
    const before = cpuSecondsOfEndedChildren();
    const start = performance.now();
    const child = spawn(binary, rcloneArguments(csv, BUCKET, limits), { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const killAtExit = () => void child.kill('SIGKILL');
    process.once('exit', killAtExit);
    const [words, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>]);
    const wallS = (performance.now() - start) / 1_000;
    process.off('exit', killAtExit);
    if (code !== 0) throw new BenchError(`rclone ended with exit code ${code}: ${words.trim().split('\n').slice(-5).join('\n')}`);
    return { wallS, cpuS: cpuSecondsOfEndedChildren() - before };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
