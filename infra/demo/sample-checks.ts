import type { Check } from './checks.js';
import type { Evidence } from './evidence.js';
import type { SampleFile } from './sample-files.js';
import type { SampleOrigin } from './sample-origin.js';

/** What must hold besides when the files are the demo's own: their bytes, their trouble, and the heartbeats are known beforehand. */
export function checkSamples(evidence: Evidence, origin: SampleOrigin, run: { prefix: string; heartbeatSeconds: number }): Check[] {
  return [
    { name: 'samples', problems: contentProblems(evidence, origin.files, run.prefix) },
    { name: 'tolerated', problems: toleratedProblems(evidence, origin.files, run.prefix) },
    { name: 'heartbeats', problems: heartbeatProblems(evidence, run.heartbeatSeconds) },
    { name: 'retries', problems: retryProblems(origin) },
  ];
}

function contentProblems({ objects, results }: Evidence, files: readonly SampleFile[], prefix: string): string[] {
  const lines = new Map(results?.succeeded.map((line) => [line.index, line]));
  return files
    .filter(({ behaviour }) => behaviour !== 'missing')
    .flatMap(({ index, key, size, sha256 }) => {
      const whole = prefix + key;
      const object = objects.get(whole);
      const line = lines.get(index);
      return [
        ...(object?.size === size && object.sha256 === sha256
          ? []
          : [`${whole} ${object === undefined ? 'is missing' : 'has other bytes than its source'}`]),
        ...(line?.key === whole && line.size === size && line.sha256 === sha256 ? [] : [`the result line of ${whole} is missing or wrong`]),
      ];
    });
}

function toleratedProblems({ results, objects }: Evidence, files: readonly SampleFile[], prefix: string): string[] {
  const missing = files.filter(({ behaviour }) => behaviour === 'missing');
  const expected = missing.map(({ key }) => `${prefix}${key} HTTP_404`).join();
  const failed = (results?.failed ?? []).map(({ key, code }) => `${key} ${code}`).join();
  const again = (results?.failedManifest ?? []).map(({ key }) => key).join();
  return [
    ...(failed === expected ? [] : [`the FAILED lines name "${failed}", not "${expected}"`]),
    ...(again === missing.map(({ key }) => key).join() ? [] : [`failed.jsonl names "${again}"`]),
    ...missing.filter(({ key }) => objects.has(prefix + key)).map(({ key }) => `${key} was missing at the source and is an object`),
  ];
}

/** The trickle takes longer than HeartbeatSeconds: only beats can have kept the token alive. */
function heartbeatProblems({ tokens }: Evidence, heartbeatSeconds: number): string[] {
  return tokens.flatMap(({ startedAtMs, heartbeats, answers }) => {
    const instants = [startedAtMs, ...heartbeats, ...answers.slice(0, 1).map(({ atMs }) => atMs)];
    const longestMs = Math.max(0, ...instants.slice(1).map((atMs, index) => atMs - (instants[index] ?? atMs)));
    return [
      ...(heartbeats.length >= 2 ? [] : [`${heartbeats.length} heartbeats were accepted; at least 2 were needed`]),
      ...(longestMs <= heartbeatSeconds * 1_000
        ? []
        : [`${longestMs} ms passed between two signs of life; HeartbeatSeconds is ${heartbeatSeconds}`]),
    ];
  });
}

/** Each source had its trouble, or the demo shows nothing. */
function retryProblems(origin: SampleOrigin): string[] {
  const expected = { plain: 1, trickle: 1, missing: 1, cut: 2, busy: 3 } as const;
  return origin.files
    .filter((file) => origin.requestsOf(file) !== expected[file.behaviour])
    .map((file) => `${file.key} (${file.behaviour}) was asked for ${origin.requestsOf(file)} times, not ${expected[file.behaviour]}`);
}
