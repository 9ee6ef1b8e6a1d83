// node fairness.mjs [seeds]   fairness between jobs under the window rule: what a small job finds in front of it.
// A small simulation beside the model: several jobs, one queue, coordinators with a cap per job and a cap over all. No faults.
// It uses the same decisions as the model (window.mjs). A tick is one receive of each coordinator, about 50 ms of the service.
import { decideSend, windowOf } from './window.mjs';
import { rng } from './model.mjs';

const PASS_DELAY = 20;
const NEVER = Infinity;
/** Which visible message a receive gets. `bigFirst` is the worst queue there is: the small job's message comes last. */
const ORDERS = {
  random: (visible, random) => visible[Math.floor(random() * visible.length)],
  fifo: (visible) => visible[0],
  lifo: (visible) => visible[visible.length - 1],
  bigFirst: (visible) => visible.find((message) => !message.job.small) ?? visible[0],
};

export function simulate({
  seed,
  order,
  live,
  bigJobs,
  batchTicks,
  perJobCap = 8,
  totalCap = 24,
  slack = 2,
  window = true,
  reserve = 0,
  lastTick = 4000,
}) {
  const random = rng(seed);
  let now = 0;
  let queue = [];
  let running = [];
  const jobs = [];
  const coordinators = Array.from({ length: live }, () => ({ hand: [] }));
  const widthNow = () => (window ? windowOf({ perJobCap, totalCap, live, active: jobs.length }) : NEVER);
  const topUp = (job) => {
    const { send, next } = decideSend(job, widthNow());
    job.cursor = next;
    for (const n of send) queue.push({ job, n, visibleAt: now });
  };
  const addJob = (job) => {
    jobs.push(Object.assign(job, { cursor: 0, ended: new Set() }));
    topUp(job);
  };
  const take = (coordinator, message) => {
    coordinator.hand.push(message.job);
    running.push({ ...message, coordinator, endsAt: now + batchTicks * (0.5 + random()) });
  };
  const receive = (coordinator, message) => {
    const ofJob = coordinator.hand.filter((job) => job === message.job).length;
    const isFull = coordinator.hand.length >= totalCap && !(ofJob === 0 && coordinator.hand.length < totalCap + reserve);
    if (isFull || (live > 1 && ofJob >= perJobCap + slack)) message.visibleAt = now + PASS_DELAY;
    else {
      queue = queue.filter((other) => other !== message);
      take(coordinator, message);
      if (message.job.small) message.job.claimedAt ??= now;
    }
  };
  const small = { small: true, batchCount: 2 };
  const arrival = 200;
  let inFront = 0; // messages of other jobs that someone received after the small job's first message was sent
  let bound = 0;
  for (let i = 0; i < bigJobs; i++) addJob({ batchCount: 1000 });
  for (; now < lastTick && small.claimedAt === undefined; now++) {
    for (const batch of running.filter(({ endsAt }) => endsAt <= now)) {
      running = running.filter((other) => other !== batch);
      batch.coordinator.hand.splice(batch.coordinator.hand.indexOf(batch.job), 1);
      batch.job.ended.add(batch.n);
      topUp(batch.job);
    }
    if (now === arrival) {
      bound = queue.length;
      addJob(small);
    }
    for (const coordinator of coordinators) {
      const visible = queue.filter(({ visibleAt }) => visibleAt <= now);
      // Without a reserve a coordinator that is full does not receive at all.
      if (visible.length === 0 || coordinator.hand.length >= totalCap + reserve) continue;
      const message = ORDERS[order](visible, random);
      if (now >= arrival && !message.job.small && small.claimedAt === undefined) inFront++;
      receive(coordinator, message);
    }
  }
  return { inFront, bound, waited: small.claimedAt === undefined ? NEVER : small.claimedAt - arrival };
}

/** The worst of some seeds, fleets and orders of the queue. */
export function worst(seeds, options) {
  const found = { inFront: 0, bound: 0, waited: 0 };
  for (let seed = 1; seed <= seeds; seed++)
    for (const order of Object.keys(ORDERS))
      for (const live of [1, 2, 5]) {
        const { inFront, bound, waited } = simulate({ seed, order, live, ...options });
        found.inFront = Math.max(found.inFront, inFront);
        found.bound = Math.max(found.bound, bound);
        found.waited = Math.max(found.waited, waited);
      }
  return found;
}

if (process.argv[1]?.endsWith('fairness.mjs')) {
  const seeds = Number(process.argv[2] ?? 5);
  const table = [
    ['one big job, batches of 5 s', { bigJobs: 1, batchTicks: 100 }],
    ['one big job that hangs', { bigJobs: 1, batchTicks: NEVER }],
    ['two big jobs that hang', { bigJobs: 2, batchTicks: NEVER }],
    ['three big jobs, batches of 5 s', { bigJobs: 3, batchTicks: 100 }],
    ['three big jobs that hang', { bigJobs: 3, batchTicks: NEVER }],
    ['three that hang, 2 places kept for jobs not in hand', { bigJobs: 3, batchTicks: NEVER, reserve: 2 }],
    ['one big job that hangs, without the window', { bigJobs: 1, batchTicks: NEVER, window: false }],
    ['one big job, batches of 5 s, without the window', { bigJobs: 1, batchTicks: 100, window: false }],
  ];
  for (const [name, options] of table) {
    const { inFront, bound, waited } = worst(seeds, options);
    console.log(
      `${name.padEnd(54)} received before it ${String(inFront).padStart(5)} · queued before it ${String(bound).padStart(4)} · ticks ${waited}`,
    );
  }
}
