import { cpus, totalmem } from 'node:os';

/** Where and when a figure was measured. */
export interface Circumstances {
  date: string;
  node: string;
  cpu: string;
  cores: number;
  memoryGiB: number;
  platform: string;
}

export function circumstances(): Circumstances {
  return {
    date: new Date().toISOString(),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    platform: `${process.platform} ${process.arch}`,
  };
}

export function asLine({ date, node, cpu, cores, memoryGiB, platform }: Circumstances): string {
  return `${date}; ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${platform}; Node ${node}\n`;
}
