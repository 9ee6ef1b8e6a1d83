// node sweep.mjs <N> [part/parts]: every rule left out in turn, each under the profiles that can show it; prints the violations and the seeds
import { run, RULES } from './model.mjs'; import { explore, offs } from './explore.mjs';
const N = Number(process.argv[2] || 2000), [pt, pn] = (process.argv[3] || '0/1').split('/').map(Number);
export const PROF = {
  base: {}, twin: { twin: 6, stop: 4, dup: 3 }, small: { coords: 2, batches: 2, tasks: 2, rate: 1.5 }, skew: { skew: 200, slow: 0.05, freeze: 4, outage: 4 },
  liveness: { lose: 60, die: 20, crash: 2 }, busy: { lose: 60, busy: 1 }, loseJob: { loseJob: 20, stallOk: 1, lose: 20 }, poison: { poison: 1 }, backlog: { backlog: 1500 }, cancel: { opcancel: 10, late: 4, delay: 4 },
  rescue: { only: 1, norescue: 1, reply: 2, flaky: 1, drain: 2, falsedead: 2 }, year: { skew: 100000 },
  // the window rule
  hang: { hang: 1, stallOk: 1 }, old: { old: 0.5 }, oldRescue: { only: 1, norescue: 2, reply: 2, old: 0.5 }, pass: { only: 1, norescue: 3, die: 20, dieAt: 'pass' }, cursor: { only: 1, norescue: 2, die: 20, dieAt: 'cursor' },
  expanded: { only: 1, norescue: 3, die: 20, dieAt: 'expanded', stop: 2, dup: 2 }, paused: { only: 1, norescue: 3, reply: 2, pause: 5, stop: 3 }, hangAll: { hang: 2, stallOk: 1 }, stallUnsent: { only: 1, die: 20, dieAt: 'cursor' }, six: { coords: 3, batches: 6, cap: 2, dup: 6, lose: 20 },
};
const only = (process.argv[4] || '').split(',').filter(Boolean), profiles = process.argv[5] ? process.argv[5].split(',') : Object.keys(PROF); // a+b: both left out
let i = 0; for (const f of only.length ? only : ['-', ...Object.keys(RULES)]) { if (!only.length && i++ % pn !== pt) continue;
  const out = []; let bad = 0, runs = 0; for (const p of profiles) { const r = explore(offs(f.replaceAll('+', ',')), N, 1, PROF[p]); bad += r.bad; runs += N; for (const k in r.inv) out.push(`${k}:${r.inv[k].n}(${p} ${r.inv[k].best.seed})`); }
  console.log(f.padEnd(14), String(bad).padStart(6) + '/' + runs, out.join(' ')); }
