import type { Lap } from './race.js';
import { spreadOf, type Spread } from '../report/statistics.js';
import { asTable } from '../report/table.js';

export interface ContenderSummary {
  contender: string;
  wallS: Spread;
  cpuS: Spread;
  filesPerS: number;
  mibPerS: number;
  /** Median share of one core that the origin and the sink were busy. */
  originBusy: number;
  sinkBusy: number;
}

export interface Bulk {
  files: number;
  bytes: number;
}

/** How many times as long the rival took as ours, round by round; undefined when it did not run. */
export function ratioOf(laps: readonly Lap[], rival: string): Spread | undefined {
  const wallOf = (contender: string, round: number) => laps.find((lap) => lap.contender === contender && lap.round === round)?.wallS;
  const ratios = laps
    .filter(({ contender }) => contender === rival)
    .flatMap(({ round, wallS }) => {
      const ourS = wallOf('ours', round);
      return ourS === undefined ? [] : [wallS / ourS];
    });
  return ratios.length === 0 ? undefined : spreadOf(ratios);
}

export function summaryOf(contender: string, laps: readonly Lap[], { files, bytes }: Bulk): ContenderSummary {
  const own = laps.filter((lap) => lap.contender === contender);
  const wallS = spreadOf(own.map((lap) => lap.wallS));
  return {
    contender,
    wallS,
    cpuS: spreadOf(own.map((lap) => lap.cpuS)),
    filesPerS: files / wallS.median,
    mibPerS: bytes / 1024 ** 2 / wallS.median,
    originBusy: spreadOf(own.map((lap) => lap.originCpuS / lap.wallS)).median,
    sinkBusy: spreadOf(own.map((lap) => lap.sinkCpuS / lap.wallS)).median,
  };
}

export function transferTable(summaries: readonly ContenderSummary[], ratios: ReadonlyMap<string, Spread>): string {
  const spread = ({ min, median, max }: Spread) => `${min.toFixed(2)} / ${median.toFixed(2)} / ${max.toFixed(2)}`;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const rows = summaries.map((summary) => {
    const ratio = ratios.get(summary.contender);
    return [
      summary.contender,
      spread(summary.wallS),
      spread(summary.cpuS),
      summary.filesPerS.toFixed(1),
      summary.mibPerS.toFixed(0),
      percent(summary.originBusy),
      percent(summary.sinkBusy),
      ratio === undefined ? '' : spread(ratio),
    ];
  });
  const titles = ['min / median / max', 'wall s', 'CPU s', 'files/s', 'MiB/s', 'origin busy', 'sink busy', 'times as long as ours'];
  return asTable(titles, rows);
}
