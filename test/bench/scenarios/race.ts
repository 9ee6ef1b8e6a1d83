import type { Contender, Limits } from '../contenders/contender.js';
import { progress } from '../report/progress.js';
import type { Ends } from '../transfers/ends.js';
import { judgeStored } from '../transfers/stored-objects.js';
import type { PlannedFile } from '../transfers/transfer-plan.js';

/** One run of one contender. */
export interface Lap {
  contender: string;
  round: number;
  wallS: number;
  cpuS: number;
  /** Meanwhile, of the origin and the sink: near `wallS`, that one was the bottleneck. */
  originCpuS: number;
  sinkCpuS: number;
}

export interface Race {
  contenders: readonly Contender[];
  files: readonly PlannedFile[];
  ends: Ends;
  limits: Limits;
  rounds: number;
}

/**
 * Round by round everybody once, in one order and then in the other. The first of the list stands in the middle, so that it runs right
 * before or after each that it is compared with.
 * @throws BenchError when the sink has not got what it should have
 */
export async function race({ contenders, files, ends, limits, rounds }: Race): Promise<Lap[]> {
  const laps: Lap[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const contender of orderOf(round, contenders)) {
      await ends.clear();
      const before = ends.cpuSeconds();
      const figures = await contender.run(files, ends, limits);
      const after = ends.cpuSeconds();
      judgeStored(contender.name, files, await ends.stored());
      const lap = {
        contender: contender.name,
        round,
        ...figures,
        originCpuS: after.origin - before.origin,
        sinkCpuS: after.sink - before.sink,
      };
      laps.push(lap);
      progress(`  round ${round} of ${rounds}: ${contender.name} ${lap.wallS.toFixed(2)} s (CPU ${lap.cpuS.toFixed(2)} s)`);
    }
  }
  return laps;
}

/** Odd rounds: rival, first, other rivals; even ones the other way round. */
export function orderOf<T>(round: number, [first, ...rivals]: readonly T[]): T[] {
  if (first === undefined) return [];
  const order = [...rivals.slice(0, 1), first, ...rivals.slice(1)];
  return round % 2 === 1 ? order : order.toReversed();
}
