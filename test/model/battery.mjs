// node battery.mjs [factor]   all rules on, under every profile of faults: 0 bad expected everywhere, else exit code 1.
// Factor 1 is a check of about a minute; 60 is the long battery (about 200,000 runs).
import { explore, offs } from './explore.mjs';
import { worst } from './fairness.mjs';

// claimProg is off because ownTime makes it unnecessary; what fails without it would be a second reason, hidden.
const RULES_ON = 'claimProg';
/** Runs at factor 1, first seed, options, rules left out besides. @type {[number, number, Record<string, number | string>, string?][]} */
const PROFILES = [
  [300, 1, {}],
  [80, 100001, { rate: 3 }],
  [80, 200001, { rate: 0.3 }],
  [120, 300001, { crash: 6, falsedead: 6 }],
  [120, 400001, { skew: 200, slow: 0.02, freeze: 4, outage: 4 }],
  [60, 500001, { flaky: 0 }],
  [60, 1500001, { coords: 3, batches: 6, crash: 6, dup: 6 }],
  [60, 1600001, { backlog: 1500 }],
  [100, 600001, { pause: 5 }],
  [120, 700001, { stop: 6, dup: 3, twin: 4 }],
  [120, 800001, { reply: 3, delay: 5, late: 4 }],
  [120, 900001, { lose: 60, die: 20, crash: 2 }],
  [60, 1000001, { lose: 60, busy: 1, die: 20 }],
  [80, 1100001, { loseJob: 20, lose: 20, stallOk: 1 }],
  [80, 1200001, { poison: 1 }],
  [60, 1300001, { opcancel: 10 }],
  [60, 1400001, { dup: 3, pause: 3, skew: 200 }, 'fence'],
  [60, 1700001, { only: 1, norescue: 1, reply: 2, flaky: 1, drain: 2, falsedead: 2 }],
  [60, 1800001, { skew: 100000 }],
  // The window rule.
  [60, 1900001, { window: 0 }, 'window'],
  [40, 2000001, { hang: 1, stallOk: 1 }],
  [40, 2050001, { hang: 2, stallOk: 1 }],
  [80, 2100001, { old: 0.5 }],
  [60, 2200001, { old: 0.5, crash: 6, loseJob: 10, stallOk: 1 }],
  [60, 2300001, { only: 1, norescue: 2, reply: 2, old: 0.5 }],
  [60, 2400001, { only: 1, norescue: 3, die: 20, dieAt: 'pass' }],
  [60, 2500001, { only: 1, norescue: 2, die: 20, dieAt: 'cursor' }],
  [60, 2600001, { only: 1, norescue: 3, die: 20, dieAt: 'expanded', stop: 2, dup: 2 }],
  [60, 2700001, { only: 1, norescue: 3, reply: 2, pause: 5 }],
  [60, 2800001, { coords: 3, batches: 6, cap: 2, dup: 6, lose: 20 }],
];
/** What a small job may find in front of it, by the number and kind of the big jobs that occupy the fleet. */
const FAIRNESS = [
  { bigJobs: 1, batchTicks: 100 },
  { bigJobs: 1, batchTicks: Infinity },
  { bigJobs: 2, batchTicks: Infinity },
  { bigJobs: 3, batchTicks: 100 },
  { bigJobs: 3, batchTicks: Infinity, reserve: 2 },
];
const FIVE_SECONDS = 100;

const factor = Number(process.argv[2] ?? 1);
let bad = 0;
let runs = 0;
for (const [share, seed, options, without = ''] of PROFILES) {
  const count = Math.round(share * factor);
  const result = explore(offs([RULES_ON, without].join(',')), count, seed, options);
  runs += count;
  bad += result.bad;
  const name = Object.entries(options).map(([key, value]) => `${key}=${value}`);
  console.log(`${result.bad} bad of ${count} runs | ${[...name, without && `without ${without}`].filter(Boolean).join(' ') || 'base'}`);
  for (const [invariant, { n, best }] of Object.entries(result.inv)) console.log('  ', invariant, n, 'seed', best.seed, best.msg);
}
for (const options of FAIRNESS) {
  const { inFront, bound, waited } = worst(Math.ceil(factor), options);
  const isFair = inFront <= bound && waited <= FIVE_SECONDS;
  if (!isFair) bad++;
  console.log(`${isFair ? 'fair' : 'UNFAIR'} | ${JSON.stringify(options)} received before it ${inFront} of ${bound}, ticks ${waited}`);
}
console.log(`${bad} bad of ${runs} runs`);
process.exitCode = bad > 0 ? 1 : 0;
