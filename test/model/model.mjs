// Executable model of the export-worker protocol (export-jobs.md, batches-and-leases.md). A process is a generator, each `yield` is one
// durable step (a read, a conditional write, a send, a sleep); the scheduler interleaves them and injects faults, seeded.
// Every rule is a flag in RULES: F.x = true is the design, F.x = false leaves the rule out (or takes the text's plausible misreading).
import { decideSend, windowOf } from './window.mjs';
export const RULES = {
  // counting
  countCond:    'count IF batchProgress.#n = :old (a plain ADD otherwise)',
  countRun:     'count IF run = mine',
  countActive:  'count IF the job is PROCESSING or DOWNLOADING',
  endedGuard:   'count IF NOT contains(endedBatches, n)',
  ckptFirst:    'checkpoint first, counters second',
  monotone:     'count-up never lowers a number within a run',
  catchupRun:   'count-up only if batch.run = job.run',
  reopenBp:     'reopen: partly done batches stand in batchProgress with what the counters hold of them',
  reopenEnded:  'reopen: endedBatches = those wholly done',
  // batch
  claimRun:     'claim IF batch.run = message.run',
  claimId:      'claim carries a claimId; a failed or unknown claim re-reads and recognises itself',
  keepToken:    'lockToken is never removed or reset',
  ckptTok:      'checkpoint IF lockToken = mine',
  ckptRun:      'checkpoint IF run = mine',
  ckptSeq:      'checkpoint IF seq < :seq',
  rereadLost:   'a failed renewal is lost only after a re-read',
  lastWithEnd:  'a flush never holds the last task of a batch; that goes with `succeeded`',
  resFirst:     'results before the row says succeeded',
  fencedRes:    'results keys carry lockToken (reclaimId for dead); the row names them',
  fence:        'local fence: no work after 2/3 TTL since the start of the last renewal',
  rowThenSend:  'release: row queued, then message',
  releaseReread:'release whose condition fails re-reads: queued with my lockToken -> send',
  // reclaim
  reclaimCond:  'reclaim on everything observed',
  reclaimId:    'a reclaim whose write was retried or unknown recognises itself and sends',
  seenTTL:      'stale (a): seen unchanged for TTL on own clock',
  storedSeen:   'stale (b): stored times old only with unchanged for 4 intervals on own clock',
  selfDoubt:    'no reclaim after an own late turn or failed own write',
  attemptsMoved:'attempts start again at 1 if done or failures grew since the last reclaim',
  movedAtLimit: '... at the limit too',
  movedResults: '"moved" means done or failures, not seq or bytes',
  attemptsReset:'reopen sets attempts = 0',
  deadClaim:    'dead: results first (under the reclaimId), then the row dead, then counters',
  // expand, tokens
  totalsOnce:   'totals and prefix in one write with one winner',
  segFence:     'segments under a random prefix recorded with the totals',
  ackLate:      'same token in PROCESSING: always continue',
  tokenProof:   'another token counts only after a beat with it was accepted',
  tokenCond:    'replace IF token as observed',
  conflict:     'row\'s own token alive too: the new one gets JobIdConflict',
  replaceGoOn:  'after a replacement in PROCESSING the expansion goes on',
  finFirst:     'FINALIZING: never replace; help finish, re-read, then act',
  // reopen
  reopenAll:    'reopen moves EVERY batch row to the new run (wholly done ones stay succeeded)',
  reopenCond:   'the move is conditional on status, run, lockToken, done observed',
  // end
  noCancelFin:  'no cancel out of FINALIZING',
  cancelViaFin: 'operator cancel goes through FINALIZING, answered before terminal',
  cancelRun:    'batches cancelled IF their run is not newer',
  finRun:       'finisher gives up unless all batch rows are final and of its run',
  manifestRun:  'manifest key per run',
  // repair
  repairSend:   'repair sends queued batches again',
  resendCond:   'a re-send IF enqueuedAt as observed',
  resendLate:   'a re-send in spite of visible messages once enqueuedAt is old',
  repairCount:  'repair counts up lagging checkpoints',
  repairRun:    'repair looks at batches of the job\'s run only',
  stallCond:    'stalled IF lastProgressAt as observed',
  ownTime:      'no progress / none of these: on own clock, by what was seen to move (else stored times, at one look)',
  claimProg:    'claim sets progressedAt',
  beatFirst:    'finish and repair never stand in front of a beat',
  // window: how many batches of a job may be out (due and not ended)
  window:       'a job has only a window of batches out (else the expander sends all of them, before DOWNLOADING)',
  topUpAfterCount: 'whoever writes a last count, or finds that it is written, tops up the window',
  repairTopsUp: 'repair tops up the window of a job that it looks into',
  sendBeforeCursor: 'messages first, then the cursor',
  cursorCas:    'cursor IF sentBatches = observed',
  cursorRun:    'cursor IF run = mine',
  noTopUpInProcessing: 'no top-up before DOWNLOADING',
  dueOnly:      'repair re-sends due batches only',
  reopenResetsCursor: 'reopen sets sentBatches = 0',
  downloadingResetsCursor: 'the write of DOWNLOADING sets sentBatches = 0',
  dueAlive:     'of the queued batches only the due ones are a sign of life, and only in DOWNLOADING',
  stallCursor:  'stalled IF sentBatches as observed',
  topUpOnRedelivery: 'a job message that finds its job DOWNLOADING tops up before it is deleted',
  topUpAnyCount:'every count tops up, not only the last one of a batch',
  passOnCopyFirst: 'pass on: the copy is sent, then the original is deleted',
};
export const PROPOSED = ['ownTime', 'resendLate', 'movedAtLimit', 'claimProg', 'reopenBp', 'releaseReread', 'repairRun', 'movedResults', 'beatFirst'];
export const all = v => Object.fromEntries(Object.keys(RULES).map(k => [k, v]));

const TTL = 90, FENCE = 60, HB = 10, VT = 60, HBT = 150, RI = 15, REPAIR = 120, STALL = 600, FINSTUCK = 60;
const TERM = { COMPLETED: 1, FAILED: 1, CANCELLED: 1 }, ACT = { PROCESSING: 1, DOWNLOADING: 1 }, FINALB = { succeeded: 1, dead: 1, cancelled: 1 };
const pc = x => { let n = 0; while (x) { n += x & 1; x >>= 1; } return n; };
const eq = (a, b) => (a ? !!b && a[0] === b[0] && a[1] === b[1] : !b);
export function rng(seed) { let a = seed >>> 0; return () => { a = (a + 0x6D2B79F5) | 0; let t = Math.imul(a ^ (a >>> 15), 1 | a); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }; }

export function run(seed, F, opt = {}) {
  const R = rng(seed * 2654435761 + 12345), ri = n => Math.floor(R() * n), chance = p => R() < p;
  const P = Object.assign({ crash: 1, pause: 1, dup: 1, lose: 1, reply: 1, late: 1, delay: 1, stop: 1, opcancel: 1, drain: 1, falsedead: 1, flaky: 1, mixed: 1, twin: 1, die: 1, freeze: 1, outage: 1, approx: 1,
    loseJob: 0, slow: 0.004, poison: 0, hang: 0, backlog: 0, cap: 1, tcap: 2, many: 0.5, old: 0, dieAt: '', busy: 0, skew: 0, maxa: 3, norescue: 0, stallOk: 0, coords: 0, batches: 0, tasks: 0, onStop: 'leave', unkClaim: 'leave', trace: false, rate: 1, only: 0 }, opt);
  const RP = P.repairT || REPAIR, ST = P.stallT || STALL;
  if (P.only) for (const k of ['crash', 'pause', 'dup', 'lose', 'reply', 'late', 'delay', 'stop', 'opcancel', 'drain', 'falsedead', 'flaky', 'mixed', 'twin', 'die', 'freeze', 'outage', 'approx']) if (!(k in opt)) P[k] = 0;
  const on = (k, p) => faults && P[k] && chance(p * P[k] * P.rate);
  let now = 0, tick = 0, faults = true, uidc = 0; const uid = () => ++uidc;
  const V = [], T = [], S = {}; const inc = (k, d = 1) => { S[k] = (S[k] || 0) + d; };
  const log = P.trace ? (...a) => T.push(`${String(now).padStart(5)} ${a.join(' ')}`) : () => {};
  const viol = (inv, msg) => { if (!V.some(v => v.inv === inv)) { V.push({ inv, msg, now }); log('!!!', inv, msg); } };
  // ---------- world
  const nb = P.batches || (F.window && chance(P.many) ? 4 + ri(3) : 2 + ri(2)), tb = P.tasks || 2 + ri(3), total = nb * tb; const hangTask = P.hang && chance(P.hang) ? ri(total) : -1, poisonTask = P.poison && chance(P.poison) ? ri(total) : -1;
  let job = null; const B = new Map(), s3 = new Map(), s3final = new Map(); let outageTill = -1, lastMove = 0, lastKill = 0;
  const jobsQ = { name: 'jobs', m: [] }, batQ = { name: 'batches', m: [] };
  const everSent = new Set(); // ghost: run/batch whose message has been sent
  const tokens = {}, exs = []; const holders = new Map(); const claimed = new Map();
  function mkExec(pre) { const e = { pre, status: 'RUNNING', k: 0, cur: null, last: 0, retries: 1 + ri(3), redrives: 1 + ri(2), stops: 2 }; exs.push(e); newToken(e, 0); return e; }
  function newToken(e, delay) { const t = e.pre + (++e.k); tokens[t] = { ex: e, born: now, open: true, tried: new Set(), ans: null, dropped: false }; e.cur = t; e.status = 'RUNNING'; e.last = now; qsend(jobsQ, { token: t }, delay); log('SFN new token', t); }
  function qsend(q, body, delay = 0) { q.m.push({ id: uid(), body, vis: now + delay, n: 0 }); if (q === batQ) { everSent.add(body.run + '/' + body.n); checkBound(); } }
  function sfnSend(kind, tk, meta) { const t = tokens[tk], e = t.ex; if (!t.open) return { gone: true };
    if (kind === 'conflict') { t.open = false; t.closedAt = now; t.by = 'us'; t.ans = kind; log('SFN answered', tk, kind); inc('ans_conflict'); if (meta && tokens[meta].ex === e) viol('I3-selfconflict', `${tk} got JobIdConflict because of ${meta} of the same execution`); e.status = 'FAILED'; return { ok: true }; }
    t.tried.add(kind); if (t.tried.size > 1) viol('I3-kinds', `${tk} was sent both answers while open`);
    if (meta && meta.finAt < t.born) viol('I3-norerun', `${tk} (issued after FINALIZING) was answered with the former outcome, nothing re-run`);
    t.open = false; t.closedAt = now; t.by = 'us'; t.ans = kind; log('SFN answered', tk, kind); inc('ans_' + kind);
    if (kind === 'success') e.status = 'SUCCEEDED'; else if (e.retries > 0) { e.retries--; newToken(e, ri(40)); inc('retry_after_fail'); } else e.status = 'FAILED'; return { ok: true }; }
  function sfnBeat(tk) { const t = tokens[tk]; if (!t.open) return { gone: true }; t.ex.last = now; return { ok: true }; }
  // ---------- writes, with the invariants
  function wJob(cond, upd, meta = {}) { const o = job; if (!cond(o)) return { ok: false }; const n = upd(o); job = n; checkJob(o, n, meta); return { ok: true, item: n }; }
  function checkJob(o, n, meta) { // n.rec: ghost, what is recorded for each batch, ended ones included
    let c = 0, f = 0; for (const k in n.rec) { c += n.rec[k][0]; f += n.rec[k][1]; if (n.bp[k] && n.ended.has(+k)) viol('I1-ended', `batch ${k} both running and ended in the job row`); }
    if (c !== n.completed || f !== n.failed) viol('I1', `counters ${n.completed}/${n.failed}, recorded ${c}/${f}`);
    if (n.total !== undefined && n.completed + n.failed > n.total) viol('I1-over', `${n.completed}+${n.failed}>${n.total} (${meta.k})`);
    if (o && o.run === n.run) for (const k in n.rec) { const a = o.rec[k]; if (a && (n.rec[k][0] < a[0] || n.rec[k][1] < a[1])) viol('I1-regress', `batch ${k} ${a}->${n.rec[k]}`); }
    if (o && meta.k === 'count') { const r = B.get(meta.n); if (r && r.run === n.run && (n.rec[meta.n][0] > pc(r.done) || n.rec[meta.n][1] > pc(r.fail))) viol('I4-ahead', `counters of batch ${meta.n} ${n.rec[meta.n]} ahead of row ${pc(r.done)}/${pc(r.fail)}`);
      if (r && r.run !== n.run) viol('I4-run', `counted batch row of run ${r.run} into run ${n.run}`);
      if (!ACT[n.status]) viol('I2-late', `counted in ${n.status}`); }
    if (o && n.status !== o.status) { log('JOB', o.status, '->', n.status, 'run', n.run, meta.by || ''); inc('st_' + n.status);
      if (n.status === 'COMPLETED' || (n.status === 'FAILED' && n.outcome === 'FAILED')) { if (n.completed + n.failed !== n.total) viol('I2-total', `${n.status} with ${n.completed}+${n.failed}!=${n.total}`); if (n.ended.size !== n.batchCount) viol('I2-ended', `${n.status} with ${n.ended.size} of ${n.batchCount} batches ended`); } }
    if (F.window && !P.old && n.status === 'DOWNLOADING' && n.batchCount !== undefined) for (let b = 0; b < cursorOf(n); b++) if (!n.ended.has(b) && !everSent.has(n.run + '/' + b)) viol('CURSOR', `batch ${b} of run ${n.run} counts as due, its message was never sent`);
    if (o && o.token && n.token !== o.token && tokens[o.token].open) { tokens[o.token].dropped = true; log('row dropped live', o.token); } }
  function wB(k, cond, upd, meta = {}) { const o = B.get(k); if (!cond(o)) return { ok: false }; const n = upd(o); B.set(k, n);
    if (o) {
      if (meta.owner && o._own !== meta.owner) viol('I4', `${meta.k} by a fenced holder accepted on batch ${k}`);
      if (o.done & ~n.done) viol('I7', `done bits lost on batch ${k} by ${meta.k}`);
      if (o.run === n.run && (o.fail & ~n.fail)) viol('I2-fail', `failures lost within a run, batch ${k} by ${meta.k}`);
      if (FINALB[o.status] && o.status !== 'cancelled' && o.run === n.run && n.status !== o.status) viol('I4-final', `${o.status}->${n.status} by ${meta.k} in the same run`);
      if (meta.k === 'cancel' && job.run === n.run && ACT[job.status]) viol('I4-cancel', `batch ${k} of the live run ${n.run} cancelled`);
      if (n.tok < o.tok) inc('token_reset'); }
    if (n.c !== pc(n.done) || n.f !== pc(n.fail) || (n.done & n.fail)) viol('I2-row', `row ${k} c/f ${n.c}/${n.f} done ${n.done} fail ${n.fail} by ${meta.k}`);
    if (job && n.run === job.run && (meta.k === 'claim' || (o && (n.prog !== o.prog || n.c + n.f !== o.c + o.f)))) lastMove = now;
    if (meta.k === 'claim') checkBound();
    log('BATCH', k, meta.k, 'by', meta.by || '', '->', n.status, 'run', n.run, 'tok', n.tok, `${n.c}/${n.f}`, meta.note || ''); inc('b_' + meta.k);
    return { ok: true, item: n }; }
  // ---------- operations
  const rd = fn => ({ t: 'r', fn }), W = (label, fn) => ({ t: 'w', label, fn }), D = (label, fn) => ({ t: 'w', label, fn, db: true }), sleep = d => ({ t: 'sleep', until: now + d }), die = (at = 'row') => ({ t: 'die', at });
  const getJob = () => rd(() => job), getB = k => rd(() => B.get(k));
  const putS3 = (key, val) => W('s3 ' + key, () => { const old = s3.get(key); s3.set(key, val); if (old !== undefined && JSON.stringify(old) !== JSON.stringify(val)) { log('S3 OVERWRITE', key, JSON.stringify(old), '->', JSON.stringify(val)); const m = s3final.get(key); if (m) viol('I5-overwrite', `${key} changed after ${m}`); } return { ok: true }; });
  const recv = q => ({ t: 'recv', fn: c => { const v = q.m.filter(x => x.vis <= now); if (!v.length) return null; const m = v[ri(v.length)]; m.n++; if (on('dup', 0.08)) { inc('dup'); log('dup delivery', q.name, JSON.stringify(m.body)); } else { m.vis = now + VT; if (q === jobsQ) c.held.add(m.id); } return { id: m.id, body: m.body, q }; } });
  const del = m => ({ t: 'del', label: 'del', fn: () => { m.q.m = m.q.m.filter(x => x.id !== m.id); } });
  const backlog = () => P.backlog && faults && chance(0.5) ? ri(P.backlog) : 0;
  const send = (q, body, d = 0) => W('send', () => { qsend(q, body, d); return { ok: true }; });
  const sendB = (body, d = 0) => { const b = d + backlog(); return sure(() => send(batQ, body, b)); };
  function* sure(mk, n = 6) { for (let i = 0; i < n; i++) { const r = yield mk(); if (!r.unknown) return r; yield sleep(1 + ri(5)); } return { unknown: true }; }
  const addsUp = j => j.total !== undefined && j.completed + j.failed === j.total;

  // ---------- counting
  function* count(c, n, run, tgt, end, hint) { // hint: the value this holder last wrote ([c,f] | undefined), null = read first
    let old, j = null;
    for (let i = 0; i < 12; i++) {
      if (i === 0 && hint !== null) old = hint; else { j = yield getJob(); if (!j || (F.countRun && j.run !== run) || (F.countActive && !ACT[j.status])) return { stop: true }; if (F.endedGuard && j.ended.has(n)) break; old = j.bp[n];
        if (!end && eq(old, tgt)) break; if (F.monotone && old && (old[0] > tgt[0] || old[1] > tgt[1])) break; if (!end && !old && tgt[0] + tgt[1] === 0) break; }
      const o = old, at = c.wall();
      const r = yield D('count', () => wJob(x => x && (!F.countActive || ACT[x.status]) && (!F.countRun || x.run === run) && (!F.endedGuard || !x.ended.has(n)) && (!F.countCond || eq(x.bp[n], o)),
        x => { const bp = { ...x.bp }; let ended = x.ended; if (end) { delete bp[n]; ended = new Set(ended).add(n); } else bp[n] = tgt; return { ...x, bp, ended, rec: { ...x.rec, [n]: tgt }, completed: x.completed + tgt[0] - (o ? o[0] : 0), failed: x.failed + tgt[1] - (o ? o[1] : 0), lastProgressAt: at, updatedAt: at }; }, { k: 'count', n }));
      if (r.ok) { j = r.item; log(c.id, 'counted', n, o || '-', '->', tgt, end ? 'ended' : ''); break; }
      if (r.unknown) yield sleep(1 + ri(3));
    }
    if (j && j.status === 'DOWNLOADING' && j.run === run && addsUp(j)) yield* finish(c, run);
    else if (end ? F.topUpAfterCount : F.topUpAnyCount) yield* topUp(c, run, j);
    return { job: j };
  }
  // ---------- window
  const windowed = c => F.window && !c.old; // old: a coordinator of the former version, which sends everything
  const topping = new Set(); // ghost: top-ups under way
  const anyOut = run => [...B.values()].some(b => b.status === 'running' && b.run === run) || batQ.m.some(m => m.body.run === run) || jobsQ.m.some(m => m.body.token === job.token) || [...topping, ...holders.values()].some(t => t.run === run && t.c.up && t.boot === t.c.boot);
  const cursorOf = j => j.cursor === undefined ? j.batchCount : j.cursor; // a row of the former version: all sent
  const windowSeen = () => windowOf({ perJobCap: P.cap, totalCap: P.tcap, live: 1 + ri(nc), active: 1 + ri(3) }); // views differ, always
  const widest = new Map(); // ghost: the widest window that anyone has used in a run
  const checkBound = () => { if (!F.window || P.old || !job) return; const out = new Set(); let m = 0; for (const x of batQ.m) if (x.body.run === job.run) { m++; out.add(x.body.n); } for (const b of B.values()) if (b.status === 'running' && b.run === job.run) { m++; out.add(b.n); } for (const n of job.ended) out.delete(n);
    const w = widest.get(job.run) || 0; S.max_excess = Math.max(S.max_excess || 0, m - w); if (out.size > w) viol('BOUND', `batches ${[...out]} are out, the widest window of run ${job.run} is ${w}`); };
  function* topUp(c, run, j, by = '') { // true: something was sent
    if (!windowed(c)) return false; const me = { c, boot: c.boot, run }; if (by !== 'repair') topping.add(me); try { return yield* topUpNow(c, run, j, by); } finally { topping.delete(me); }
  }
  function* topUpNow(c, run, j, by) { let any = false;
    for (let i = 0; i < 12; i++) {
      if (!j) j = yield getJob(); const may = x => x.run === run && (x.status === 'DOWNLOADING' || (!F.noTopUpInProcessing && x.status === 'PROCESSING'));
      if (!j || !may(j) || j.batchCount === undefined) return any;
      const w = windowSeen(), cur = cursorOf(j), { send: ns, next } = decideSend({ cursor: cur, batchCount: j.batchCount, ended: j.ended }, w); if (!ns.length) return any;
      widest.set(run, Math.max(widest.get(run) || 0, w)); any = true; log(c.id, by, 'tops up', ns, 'cursor', cur, '->', next, 'window', w); inc('topup');
      const sendAll = function* () { for (const n of ns) { yield die('cursor'); yield* sendB({ n, run }); } };
      if (by === 'repair' && !anyOut(run)) for (const n of ns) rescue(n, `repair had to top up batch ${n}`);
      if (F.sendBeforeCursor) yield* sendAll();
      const r = yield D('cursor', () => wJob(x => (F.cursorRun ? may(x) : ACT[x.status]) && (P.cursor === 'lt' ? cursorOf(x) < next : !F.cursorCas || cursorOf(x) === cur), x => ({ ...x, cursor: next })));
      if (!F.sendBeforeCursor && r.ok) yield* sendAll();
      if (r.ok) return any; inc('topup_again'); j = null; if (r.unknown) yield sleep(1 + ri(3));
    }
    return any;
  }
  const lags = (row, j) => { const n = row.n, fin = row.status === 'succeeded' || row.status === 'dead'; return fin ? !j.ended.has(n) : !j.ended.has(n) && !eq(j.bp[n] || [0, 0], [row.c, row.f]); };
  function* catchUp(c, row, j) {
    if (!j || !ACT[j.status] || (F.catchupRun && row.run !== j.run)) return;
    if (!lags(row, j)) { if (j.status === 'DOWNLOADING' && addsUp(j)) yield* finish(c, j.run); return; }
    inc('catchup'); yield* count(c, row.n, j.run, [row.c, row.f], row.status === 'succeeded' || row.status === 'dead', F.monotone ? null : j.bp[row.n]);
  }
  // ---------- settle
  const resKeys = (row, n) => F.fencedRes ? [`S/${n}.${row.resTok}`, `F/${n}.${row.resTok}`] : [`S/${n}`, `F/${n}`];
  function* finish(c, run) {
    for (let i = 0; i < 4; i++) {
      let j = yield getJob(); if (!j || j.run !== run) return;
      if (j.status === 'DOWNLOADING' && addsUp(j)) { const out = j.failed > 0 ? 'FAILED' : 'COMPLETED', at = c.wall(); const r = yield D('fin', () => wJob(x => x.status === 'DOWNLOADING' && x.run === run && x.completed === j.completed && x.failed === j.failed, x => ({ ...x, status: 'FINALIZING', outcome: out, updatedAt: at, finAt: now }), { by: c.id })); if (!r.ok) continue; j = r.item; }
      if (j.status !== 'FINALIZING') return;
      let key; if (j.outcome === 'COMPLETED' || j.outcome === 'FAILED') {
        const files = [], rows = []; for (let n = 0; n < j.batchCount; n++) rows.push(yield getB(n));
        if (F.finRun && rows.some(r => !r || (r.run !== run && (F.reopenAll || pc(r.done) !== r.total)) || !(r.status === 'succeeded' || r.status === 'dead'))) { const j2 = yield getJob(); if (j2.run === run && j2.status === 'FINALIZING') viol('I5-notfinal', 'FINALIZING but batch rows not final'); return; }
        rows.forEach((r, n) => files.push(...resKeys(r || {}, n)));
        key = F.manifestRun ? `manifest.${run}` : 'manifest'; const val = { run, outcome: j.outcome, files, c: j.completed, f: j.failed };
        const pr = yield* sure(() => W('manifest', () => { const miss = files.filter(k => !s3.has(k)); if (miss.length && job.run === run && job.status === 'FINALIZING') viol('I5-missing', `manifest written before ${miss}`); const old = s3.get(key); if (old && s3final.has(key) && JSON.stringify(old) !== JSON.stringify(val) && (F.manifestRun || run < job.run || TERM[job.status])) viol('I5-manifest', `${key} of run ${old.run} overwritten by late finisher of run ${run}`); s3.set(key, val); return { ok: true }; }));
        if (pr.unknown) return;
      }
      const j3 = yield getJob(); if (j3.run !== run || j3.status !== 'FINALIZING') return;
      const tk = j3.token; let cb = 'none';
      if (tk) { const r = yield* sure(() => W('settle', () => sfnSend(j3.outcome === 'COMPLETED' ? 'success' : 'failure', tk, j3.outcome === 'FAILED' ? { finAt: j3.finAt } : null))); if (r.unknown) return; cb = r.gone ? 'gone' : 'ok'; }
      const st = j3.outcome === 'COMPLETED' ? 'COMPLETED' : j3.outcome === 'CANCELLED' ? 'CANCELLED' : 'FAILED', at = c.wall();
      const r = yield* sure(() => D('terminal', () => wJob(x => x.status === 'FINALIZING' && x.run === run, x => { if (key) { s3final.set(key, 'terminal run ' + run); for (const k of s3.get(key).files) s3final.set(k, 'terminal'); } return { ...x, status: st, token: null, callback: cb, resultKey: key, updatedAt: at }; }, { by: c.id })));
      if (r.ok) { if (st === 'CANCELLED' || j3.outcome === 'STALLED') yield* cancelBatches(c, run); return; }
    }
  }
  // ---------- cancel
  function* cancelBatches(c, run) { const j = yield getJob(); const k = j && j.batchCount || 0; for (let n = 0; n < k; n++) yield D('cb', () => wB(n, r => r && (r.status === 'queued' || r.status === 'running') && (!F.cancelRun || r.run <= run), r => ({ ...r, status: 'cancelled', _own: null }), { k: 'cancel', by: c.id })); }
  const canCancel = x => ACT[x.status] || (!F.noCancelFin && x.status === 'FINALIZING');
  function* cancelDead(c, tk) { inc('cancelDead'); const j = yield getJob(); if (!j) return; const run = j.run, at = c.wall();
    const r = yield* sure(() => D('cancel', () => wJob(x => x.run === run && x.token === tk && canCancel(x), x => ({ ...x, status: 'CANCELLED', token: null, updatedAt: at }), { by: c.id + ' dead token' })));
    if (r.ok) yield* cancelBatches(c, run); }
  function* opCancel(c) { const j = yield getJob(); if (!j || TERM[j.status]) return; const run = j.run, at = c.wall(); inc('opCancel'); log(c.id, 'operator cancel');
    if (F.cancelViaFin) { const r = yield* sure(() => D('opc', () => wJob(x => x.run === run && canCancel(x), x => ({ ...x, status: 'FINALIZING', outcome: 'CANCELLED', updatedAt: at }), { by: 'op' }))); if (r.ok) yield* finish(c, run); }
    else { let tk = null; const r = yield D('opc', () => wJob(x => x.run === run && canCancel(x), x => { tk = x.token; return { ...x, status: 'CANCELLED', token: null, updatedAt: at }; }, { by: 'op' })); if (r.ok) { yield* cancelBatches(c, run); if (tk) yield* sure(() => W('settle', () => sfnSend('failure', tk))); } } }
  // ---------- reclaim
  function stale(c, r, n) { const v = r.tok + '/' + r.hb + '/' + r.run; let s = c.seen.get(n); if (!s || s.v !== v) c.seen.set(n, s = { v, at: now });
    const own = now - s.at, old = c.wall() - r.lockedAt > TTL && c.wall() - r.hb > TTL;
    return (F.seenTTL && own > TTL) || (old && P.noB !== 1 && (!F.storedSeen || own > 4 * HB)); }
  // where nobody dies and no message is lost, nothing may need rescue (slow holders excepted)
  const rescue = (n, msg) => { if (P.norescue && (P.norescue < 2 || msg.includes('send') || (P.norescue > 2 && msg.includes('top up'))) && !S.fence && job.status === 'DOWNLOADING' && ![...holders.values()].some(h => h.n === n && h.c.up && h.boot === h.c.boot) && !batQ.m.some(m => m.body.n === n)) viol('RESCUE', msg); };
  const holderLive = row => { const h = holders.get(row._own); return h && h.c.up && h.boot === h.c.boot && now - h.start() <= FENCE ? h : null; };
  function* reclaim(c, n, row, why) {
    const same = x => x && x.status === 'running' && (!F.reclaimCond ? x.tok === row.tok : x.run === row.run && x.tok === row.tok && x.att === row.att && x.lockedAt === row.lockedAt && x.hb === row.hb);
    const moved = F.attemptsMoved && (F.movedResults ? row.c + row.f > (row.mark || 0) : row.seq > 0); const rid = uid();
    const ghost = x => { if (why !== 'turn') return; const h = holderLive(x); if (h) { inc('reclaim_live'); if (!h.c.paused) inc('reclaim_live_awake'); if (!P.skew) viol('LEASE-live', `batch ${n} reclaimed by ${c.id} from ${h.c.id} that has not reached its own fence`); } rescue(n, `reclaim of batch ${n} was needed`); };
    if (row.att < P.maxa || (moved && F.movedAtLimit)) {
      const at = c.wall(), att = moved ? 1 : row.att + 1;
      let r = yield D('reclaim', () => wB(n, same, x => { ghost(x); return { ...x, status: 'queued', att, mark: x.c + x.f, _rc: (x.c + x.f > (x._mk || 0) ? 0 : x._rc || 0) + 1, _mk: x.c + x.f, tok: F.keepToken ? x.tok : 0, rid, lockedAt: null, claim: null, enq: at, _own: null }; }, { k: 'reclaim', by: c.id, note: why + ' att ' + att }));
      if (!r.ok && F.reclaimId) { const x = yield getB(n); if (x.status === 'queued' && x.rid === rid) r = { ok: true }; }
      if (r.ok) { yield die(); yield* sendB({ n, run: row.run }, ri(10) * att); } return;
    }
    const ghostDead = x => { ghost(x); if (x.c + x.f > (x._mk || 0) || (x._rc || 0) < P.maxa) viol('DEAD-false', `batch ${n} given up after ${x._rc || 0} reclaims in a row without progress (limit ${P.maxa}), ${x.c + x.f} done or failed, ${x._mk || 0} at the last reclaim`); };
    const fill = (total, done) => ((1 << total) - 1) & ~done;
    if (F.deadClaim) { const seg = yield rd(() => s3.get(row.seg)), fail = fill(row.total, row.done), rt = 'r' + rid;
      if ((yield* putRes(n, row.done, fail, seg, rt)).unknown) return;
      let d = yield D('dead', () => wB(n, same, y => { ghostDead(y); return { ...y, status: 'dead', fail, f: pc(fail), resTok: rt, rid, _own: null }; }, { k: 'dead', by: c.id }));
      if (!d.ok) { const x = yield getB(n); if (!(x.status === 'dead' && x.rid === rid)) return; d = { item: x }; }
      yield* catchUp(c, d.item, yield getJob());
    } else { const r = yield D('dead', () => wB(n, same, x => { ghostDead(x); const fail = fill(x.total, x.done); return { ...x, status: 'dead', fail, f: pc(fail), resTok: x.tok, _own: null }; }, { k: 'dead', by: c.id })); if (!r.ok) return;
      const x = r.item, seg = yield rd(() => s3.get(x.seg)); yield* putRes(n, x.done, x.fail, seg, x.tok); yield* catchUp(c, x, yield getJob()); }
  }
  function* reclaimTurn(c, late) {
    if (F.selfDoubt && (late > 2 * RI || c.wfail)) { inc('doubt'); return; }
    const st = []; for (const n of [...B.keys()]) { const x = yield getB(n); if (x.status === 'running') { if (stale(c, x, n)) st.push([n, x]); } else c.seen.delete(n); }
    for (const [n, x] of st) yield* reclaim(c, n, x, 'turn');
    if (on('falsedead', 0.15)) for (const n of [...B.keys()]) { const x = yield getB(n); if (x.status === 'running' && chance(0.5)) { inc('falsedead'); log(c.id, 'believes holder of', n, 'dead'); yield* reclaim(c, n, x, 'dead'); } }
  }
  function* coordBeat(c) { const r = yield D('coordinator', () => ({ ok: true })); c.wfail = !!r.unknown; }
  // ---------- a batch
  function* putRes(n, done, fail, seg, tok) { const [ks, kf] = F.fencedRes ? [`S/${n}.${tok}`, `F/${n}.${tok}`] : [`S/${n}`, `F/${n}`];
    const a = yield* sure(() => putS3(ks, seg.filter((_, i) => done >> i & 1))); if (a.unknown) return a; return yield* sure(() => putS3(kf, seg.filter((_, i) => fail >> i & 1))); }
  function* runBatch(c, m) {
    const { n, run } = m.body; let j = yield getJob();
    if (!j || TERM[j.status] || j.run !== run) { yield del(m); return; }
    if (windowed(c) && c.hand >= P.cap + c.slack && chance(0.8)) { // full of this job, and (it believes) not alone: pass on
      inc('passed_on'); if (F.passOnCopyFirst) { if ((yield* sendB({ n, run }, 5 + ri(15))).unknown) return; yield die('pass'); yield del(m); } else { yield del(m); yield die('pass'); yield* sendB({ n, run }, 5 + ri(15)); } return; }
    c.hand++; const boot = c.boot; yield* take(c, m, n, run, j); if (c.boot === boot) c.hand--;
  }
  function* take(c, m, n, run, j) {
    const me = uid(); let row, start;
    for (let i = 0; ; i++) {
      start = now; const wl = c.wall();
      const r = yield D('claim', () => wB(n, x => x && x.status === 'queued' && (!F.claimRun || x.run === run), x => ({ ...x, status: 'running', by: c.id, tok: x.tok + 1, lockedAt: wl, hb: wl, prog: F.claimProg ? wl : x.prog, seq: 0, claim: me, _own: me }), { k: 'claim', by: c.id }));
      c.wfail = !!r.unknown;
      if (r.ok) { row = r.item; break; }
      const x = yield getB(n);
      if (x && x.status === 'running' && x.claim === me) { if (F.claimId) { row = x; inc('own_claim_seen'); break; } inc('own_claim_missed'); }
      if (r.unknown && x && x.status === 'queued' && x.run === run) { if (i < 3) { yield sleep(1 + ri(3)); continue; } if (P.unkClaim === 'leave') return; }
      yield del(m); inc('msg_deleted_unclaimed');
      if (x && FINALB[x.status]) yield* catchUp(c, x, yield getJob());
      return;
    }
    holders.set(me, { c, n, run, boot: c.boot, start: () => start }); claimed.set(n, me);
    yield del(m);
    yield* work(); holders.delete(me); return;
    function* work() {
      let done = row.done, fail = row.fail, seq = row.seq || 0, ld = done, lf = fail, cached = j.bp[n];
      const fenced = () => F.fence && now - start > FENCE;
      const halt = function* () { inc('selfStop'); if (P.onStop === 'cancel') yield D('selfCancel', () => wB(n, x => x.tok === row.tok && x.status === 'running' && x.run === run, x => ({ ...x, status: 'cancelled', _own: null }), { k: 'selfcancel', by: c.id, owner: me })); };
      if (!eq(cached || [0, 0], [row.c, row.f])) { inc('takeover_count'); if ((yield* count(c, n, run, [row.c, row.f], false, null)).stop) { yield* halt(); return; } cached = row.c + row.f ? [row.c, row.f] : undefined; }
      const seg = yield rd(() => s3.get(row.seg)); if (!seg) { viol('I-seg', 'segment missing'); return; }
      function* ckpt(kind, extra, bytes) { for (;;) {
        if (fenced()) { inc('fence'); return 'lost'; } const s = now, wl = c.wall(), d = done, f = fail, q = ++seq, moved = bytes || d !== ld || f !== lf || extra;
        const r = yield D(kind, () => wB(n, x => (!F.ckptTok || x.tok === row.tok) && (!F.ckptRun || x.run === run) && x.status === 'running' && (!F.ckptSeq || x.seq < q), x => ({ ...x, seq: q, done: d, fail: f, c: pc(d), f: pc(f), hb: wl, prog: moved ? wl : x.prog, ...extra, ...(extra ? { _own: null } : {}) }), { k: kind, by: c.id, owner: me }));
        c.wfail = !!r.unknown;
        if (r.ok) { start = s; ld = d; lf = f; return 'ok'; }
        if (r.unknown) { yield sleep(1 + ri(2)); continue; }
        if (F.rereadLost) { const x = yield getB(n); if (x.tok === row.tok && x.run === run && x.status === (extra ? extra.status : 'running')) { start = s; ld = d; lf = f; return 'ok'; } }
        inc('lost'); return 'lost'; } }
      const tally = end => count(c, n, run, [pc(done), pc(fail)], end, cached);
      function* flush(bytes) { // false: stop
        const changed = !eq(cached || [0, 0], [pc(done), pc(fail)]);
        if (changed && !F.ckptFirst) { if ((yield* tally(false)).stop) { yield* halt(); return false; } cached = [pc(done), pc(fail)]; }
        if ((yield* ckpt('flush', null, bytes)) === 'lost') return false;
        if (changed && F.ckptFirst) { if ((yield* tally(false)).stop) { yield* halt(); return false; } cached = [pc(done), pc(fail)]; }
        if (!changed) { const x = yield getJob(); if (!x || !ACT[x.status] || x.run !== run) { yield* halt(); return false; } }
        return true; }
      function* release() {
        if ((done !== ld || fail !== lf) && (yield* ckpt('flush')) === 'lost') return; if (fenced()) { inc('fence'); return; }
        if (!F.rowThenSend) yield* sendB({ n, run });
        const at = c.wall(); let r = yield* sure(() => D('release', () => wB(n, x => x.tok === row.tok && x.run === run && x.status === 'running', x => ({ ...x, status: 'queued', lockedAt: null, claim: null, enq: at, _own: null }), { k: 'release', by: c.id, owner: me })), 3);
        if (!r.ok && F.releaseReread) { const x = yield getB(n); if (x.status === 'queued' && x.tok === row.tok && x.run === run) r = { ok: true }; }
        if (r.ok && F.rowThenSend) { yield die(); yield* sendB({ n, run }); } }
      for (let i = 0; i < row.total; i++) {
        if (done >> i & 1 || fail >> i & 1) continue;
        if (c.draining) { yield* release(); return; }
        for (let k = chance(P.slow) ? 60 + ri(70) : chance(0.2) ? 1 + ri(3) : 0; k > 0; k--) { yield sleep(7 + ri(5)); if (c.draining) { yield* release(); return; } if (!(yield* flush(chance(0.8)))) return; }
        if (fenced()) { inc('fence'); return; }
        while (seg[i] === hangTask || P.hang === 2) { yield sleep(7 + ri(5)); if (c.draining) { yield* release(); return; } if (!(yield* flush(false))) return; } // a source that never answers
        if (seg[i] === poisonTask) yield { t: 'poison' };
        let good = !chance(P.flaky ? 0.2 : 0); const g0 = good;
        const tr = yield W('task', () => { if (claimed.get(n) !== me) inc('task_by_former_holder'); if (g0) s3.set('file/' + seg[i], 1); inc('tasks'); return { ok: true }; }); if (tr.unknown) good = false;
        if (good) done |= 1 << i; else fail |= 1 << i;
        if (fenced()) { inc('fence'); return; }
        if (pc(done | fail) === row.total && F.lastWithEnd) break;
        if (chance(0.6) && !(yield* flush(true))) return;
      }
      if (pc(done | fail) !== row.total) return;
      if (F.resFirst) { if (fenced()) { inc('fence'); return; } if ((yield* putRes(n, done, fail, seg, row.tok)).unknown) return; }
      if (!F.ckptFirst) yield* tally(true);
      if ((yield* ckpt('end', { status: 'succeeded', resTok: row.tok })) === 'lost') return;
      if (!F.resFirst) yield* putRes(n, done, fail, seg, row.tok);
      if (F.ckptFirst) yield* tally(true);
    }
  }
  // ---------- intake
  function* expand(c, m, run) {
    let j = yield getJob(); const leave = function* () { if (F.topUpOnRedelivery) yield* topUp(c, run, j); yield del(m); };
    if (!j || j.run !== run || j.status !== 'PROCESSING') { yield* leave(); return; }
    if (j.total === undefined) {
      const pre = F.segFence ? 'seg' + uid() : 'seg', size = c.size, cnt = Math.ceil(total / size), at = c.wall();
      for (let b = 0; b < cnt; b++) { const ids = []; for (let i = b * size; i < Math.min(total, (b + 1) * size); i++) ids.push(i); if ((yield putS3(`${pre}/${b}`, ids)).unknown) return; }
      yield* sure(() => D('totals', () => wJob(x => x.status === 'PROCESSING' && x.run === run && (!F.totalsOnce || x.total === undefined), x => { if (x.total !== undefined) log(c.id, 'totals again'); return { ...x, total, batchCount: cnt, size, seg: pre, updatedAt: at, lastProgressAt: at }; })));
      j = yield getJob(); if (j.run !== run || j.status !== 'PROCESSING') { yield* leave(); return; } if (j.total === undefined) return;
    }
    const q = [];
    for (let n = 0; n < j.batchCount; n++) {
      const cntn = Math.min(j.size, total - n * j.size);
      const r = yield* sure(() => { const at = c.wall(); return D('mkrow', () => wB(n, x => x === undefined, () => ({ n, status: 'queued', run, total: cntn, done: 0, fail: 0, c: 0, f: 0, tok: 0, att: 0, enq: at, seg: `${j.seg}/${n}`, _own: null }), { k: 'create', by: c.id })); });
      if (r.unknown) return;
      if (r.ok) { q.push(n); continue; }
      for (let i = 0; ; i++) { const x = yield getB(n);
        if (x.run >= run) { if (x.status === 'queued' && x.run === run) q.push(n); break; }
        if (i > 8) return;
        const whole = pc(x.done) === x.total; if (whole && !F.reopenAll) break;
        const ok = F.reopenCond ? y => y.run === x.run && y.status === x.status && y.tok === x.tok && y.done === x.done : () => true;
        const stale_ = F.reopenCond ? {} : { done: x.done, c: pc(x.done) }, at = c.wall();
        yield D('move', () => wB(n, ok, y => whole && y.resTok !== undefined ? { ...y, run, status: 'succeeded', fail: 0, f: 0, _own: null } : { ...y, ...stale_, run, status: 'queued', fail: 0, f: 0, tok: F.keepToken ? y.tok + 1 : y.tok, ...(F.attemptsReset ? { att: 0 } : {}), mark: pc(y.done), _rc: 0, _mk: pc(y.done), enq: at, claim: null, lockedAt: null, _own: null }, { k: 'move', by: c.id }));
      }
    }
    if (!windowed(c)) for (const n of q) { yield die(); if ((yield* sendB({ n, run })).unknown) return; }
    const me = { c, boot: c.boot, run }; topping.add(me);
    const at = c.wall(), r = yield* sure(() => D('dl', () => wJob(x => x.status === 'PROCESSING' && x.run === run, x => ({ ...x, status: 'DOWNLOADING', ...(windowed(c) && F.downloadingResetsCursor ? { cursor: 0 } : {}), updatedAt: at }), { by: c.id })));
    if (r.unknown) { topping.delete(me); return; } if (r.ok && addsUp(r.item)) yield* finish(c, run); else { yield die('expanded'); yield* topUp(c, run, r.item); }
    topping.delete(me); yield del(m);
  }
  function* intake(c, m) {
    const tk = m.body.token, t0 = now; const deadTaken = x => { if (!tokens[tk].open && tokens[tk].closedAt < t0) viol('I3-dead-taken', `${tk}, dead before its message was received, was taken into the row of a job ${x.status}`); };
    for (let i = 0; i < 8; i++) {
      let j = yield getJob(); const at = c.wall();
      if (!j) { // accept
        yield D('create', () => { if (job) return { ok: false }; job = { status: 'PROCESSING', run: 1, token: tk, attempt: 1, completed: 0, failed: 0, bp: {}, ended: new Set(), rec: {}, cursor: windowed(c) ? 0 : undefined, updatedAt: at, lastProgressAt: at }; log('JOB created', tk); return { ok: true }; });
        const j2 = yield getJob(); if (!j2 || j2.token !== tk) continue;
        const b = yield W('beat', () => sfnBeat(tk)); if (b.gone) { yield* cancelDead(c, tk); yield del(m); return; } continue; }
      if (j.token === tk) { if (j.status === 'PROCESSING' && (F.ackLate || i > 0)) yield* expand(c, m, j.run); else { if (F.topUpOnRedelivery) yield* topUp(c, j.run, j); yield del(m); } return; }
      if (F.tokenProof) { const b = yield W('proof', () => sfnBeat(tk)); if (b.gone) { inc('stale_token_msg'); yield del(m); return; } if (b.unknown) return; }
      if (j.status === 'COMPLETED') { const r = yield* sure(() => W('settle', () => sfnSend('success', tk))); if (!r.unknown) yield del(m); inc('settle_completed'); return; }
      if (j.status === 'FINALIZING' && F.finFirst) { inc('fin_first'); yield* finish(c, j.run); const j2 = yield getJob(); if (j2.status === 'FINALIZING' && i > 5) return; continue; }
      if (!TERM[j.status]) {
        if (F.conflict && j.status !== 'FINALIZING') { const own = yield W('own', () => sfnBeat(j.token)); if (own.unknown) return; if (own.ok) { inc('two_live'); const r = yield* sure(() => W('conflict', () => sfnSend('conflict', tk, j.token))); if (!r.unknown) yield del(m); return; } }
        const r = yield D('replace', () => wJob(x => x.status === j.status && x.run === j.run && (!F.tokenCond || x.token === j.token), x => { deadTaken(x); return { ...x, token: tk, attempt: x.attempt + 1, updatedAt: at }; }, { k: 'replace' }));
        if (r.unknown) return; if (!r.ok) continue; inc('replaced'); log(c.id, 'replaced', j.token, 'by', tk, 'in', j.status);
        if (j.status === 'PROCESSING' && F.replaceGoOn) yield* expand(c, m, j.run); else { if (F.topUpOnRedelivery) yield* topUp(c, j.run, r.item); yield del(m); } return;
      }
      // reopen
      const bp = {}, rec = {}, ended = F.reopenEnded ? new Set() : j.ended; let cc = 0;
      for (let n = 0; n < (j.batchCount || 0); n++) { const x = yield getB(n); if (!x) continue; const d = pc(x.done); cc += d; rec[n] = [d, 0]; if (F.reopenEnded && d === x.total) ended.add(n); else if (d && F.reopenBp) bp[n] = [d, 0]; }
      const run = j.run + 1;
      const r = yield D('reopen', () => wJob(x => x.status === j.status && x.run === j.run, x => { deadTaken(x); return ({ ...x, status: 'PROCESSING', run, token: tk, attempt: x.attempt + 1, bp, ended, rec, completed: cc, failed: 0, ...(windowed(c) && F.reopenResetsCursor ? { cursor: 0 } : {}), outcome: undefined, resultKey: undefined, updatedAt: at, lastProgressAt: at }); }, { by: c.id + ' reopen ' + tk }));
      if (r.unknown) return; if (!r.ok) continue; inc('reopened'); yield* expand(c, m, run); return;
    }
  }
  // ---------- orchestrator
  const mine = c => { if (chance(0.1)) return true; for (const o of coords) if ((o.up && !(o.paused && now - o.pausedAt > 30)) || (!o.up && now - o.diedAt < 30)) return o === c; return true; };
  const visible = () => P.busy || batQ.m.some(x => x.vis <= now) !== on('approx', 0.1) ? 1 : 0;
  function* orch(c) {
    if (!mine(c)) return; const j = yield getJob(); if (!j || TERM[j.status]) { c.mem = null; return; }
    const sig = [j.run, j.status, j.lastProgressAt].join(); if (!c.mem || c.mem.sig !== sig) c.mem = { sig, at: now, alive: now, marks: {}, enq: {} }; const mem = c.mem;
    const beat = function* () { if (!j.token) return false; const b = yield W('beat', () => sfnBeat(j.token)); if (b.gone && ACT[j.status]) { yield* cancelDead(c, j.token); return true; } return false; };
    if (F.beatFirst) { if (yield* beat()) return; if (!c.side) { c.side = true; spawn(c, (function* () { yield* beside(c, j, mem); c.side = false; })()); } return; }
    if (yield* beside(c, j, mem)) return; yield* beat();
  }
  function* beside(c, j, mem) { // finish and repair; true: withhold the beat
    if (j.status === 'FINALIZING' && (F.ownTime ? now - mem.at : c.wall() - j.updatedAt) > FINSTUCK) { inc('orch_fin'); yield* finish(c, j.run); return true; }
    if (j.status === 'DOWNLOADING' && addsUp(j)) { inc('orch_finish'); yield* finish(c, j.run); return true; }
    if (ACT[j.status]) {
      if ((F.ownTime ? now - mem.at : c.wall() - j.lastProgressAt) > RP) {
        let alive = false; const vis = yield rd(visible);
        for (let n = 0; n < (j.batchCount || 0); n++) { const x = yield getB(n); if (!x || (F.repairRun && x.run !== j.run)) continue;
          if (x.status === 'running') { const mk = x.tok + '/' + x.prog; if (F.ownTime ? mem.marks[n] !== mk : c.wall() - x.prog < 2 * TTL) alive = true; mem.marks[n] = mk; }
          const due = !windowed(c) || (j.status === 'DOWNLOADING' && n < cursorOf(j));
          if (x.status === 'queued' && !due && F.dueOnly) { if (!F.dueAlive) alive = true; mem.enq[n] = { v: x.enq, at: now }; }
          else if (x.status === 'queued') { if (due || !F.dueAlive) alive = true; let e = mem.enq[n]; if (!e || e.v !== x.enq) e = mem.enq[n] = { v: x.enq, at: mem.at === now || e ? now : mem.at };
            if (F.repairSend && x.run === j.run && (F.ownTime ? now - e.at : c.wall() - x.enq) > (F.resendLate && vis ? ST : RP) && (!vis || F.resendLate)) { if (!c.old) rescue(n, `repair had to send batch ${n} again`); log(c.id, 'repair re-sends', n); const at = c.wall(); const r = yield D('enq', () => wB(n, y => y.status === 'queued' && (!F.resendCond || y.enq === x.enq), y => ({ ...y, enq: at }), { k: 'resend', by: c.id })); if (r.ok) { yield die(); yield* sendB({ n, run: x.run }); inc('resent'); } } }
          else if (!alive && lags(x, j) && (!F.catchupRun || x.run === j.run) && x.status !== 'cancelled' || (x.status !== 'cancelled' && lags(x, j) && x.run === j.run)) { if (F.repairCount) { alive = true; inc('repair_count'); if (lags(x, job)) rescue(n, `repair had to count batch ${n}`); yield* catchUp(c, x, yield getJob()); } } }
        if (F.repairTopsUp && (yield* topUp(c, j.run, null, 'repair'))) { alive = true; inc('repair_topup'); }
        if (alive) mem.alive = now;
        if (!alive && (F.ownTime ? now - mem.alive : c.wall() - j.lastProgressAt) > ST) { const at = c.wall();
          const r = yield D('stall', () => wJob(x => ACT[x.status] && x.run === j.run && (!F.stallCond || x.lastProgressAt === j.lastProgressAt) && (!F.stallCursor || x.cursor === j.cursor), x => { if (F.window && !P.old && x.status === 'DOWNLOADING' && decideSend({ cursor: cursorOf(x), batchCount: x.batchCount, ended: x.ended }, 1).send.length) viol('STALL-unsent', 'declared stalled though nothing was out and batches waited that nobody had sent'); if (x.lastProgressAt !== j.lastProgressAt) viol('STALL-false', 'declared stalled though a count came after the look'); if ([...B.values()].some(b => b.run === x.run && b.status !== 'cancelled' && lags(b, x)) && [...B.values()].every(b => b.run === x.run && FINALB[b.status])) viol('STALL-lag', 'declared stalled though all batches had ended, one only not counted'); if (now - lastMove < 120 && x.run === j.run && [...B.values()].some(b => b.run === x.run && b.status === 'running')) viol('STALL-false', `declared stalled though a running batch was claimed or progressed ${now - lastMove} s ago`); return { ...x, status: 'FINALIZING', outcome: 'STALLED', updatedAt: at }; }, { by: c.id + ' stalled' }));
          if (r.ok) { inc('stalled'); if (!faults && now > faultEnd + ST + 500 && !P.stallOk) viol('STALL', `job declared stalled in ${j.status} with no fault around; batches ${[...B.values()].map(b => b.status + ':' + b.run)} job run ${j.run}`); yield* finish(c, j.run); } return true; }
      }
    }
    return false;
  }
  // ---------- coordinators and scheduler
  const nc = P.coords || 2 + ri(2), coords = [];
  for (let i = 0; i < nc; i++) { const c = { id: 'C' + i, up: false, at: 0, procs: [], paused: 0, draining: false, size: tb, skew: 0, boot: 0, diedAt: -99 }; c.wall = () => now + c.skew + (++tick) * 1e-7; coords.push(c); }
  let orphans = []; const busy = new Set();
  function* loopQ(c, q, h) { for (;;) { if (c.draining) return; const m = yield recv(q); if (m) { const k = uid(); busy.add(k); c.busy.add(k); yield* h(c, m); c.held.delete(m.id); busy.delete(k); c.busy.delete(k); } else yield { ...sleep(2 + ri(8)), idle: true }; } }
  function* loopT(c, d, h) { for (;;) { const due = now + (h === orch ? 27 + ri(7) : 1 + ri(d * 2)); yield { t: 'sleep', until: due, idle: true }; if (c.draining && h === reclaimTurn) return; yield* h(c, now - due); } }
  function spawn(c, g) { const p = { c, g, op: null, res: undefined }; adv(p); c.procs.push(p); }
  function adv(p, v) { const r = p.g.next(v); if (r.done) { p.dead = true; p.op = null; } else p.op = r.value; }
  function up(c) { c.up = true; c.boot++; c.draining = false; c.paused = 0; c.procs = []; c.busy = new Set(); c.held = new Set(); c.seen = new Map(); c.mem = null; c.side = false; c.wfail = false; c.hand = 0; c.slack = ri(2); c.old = P.old ? chance(P.old) : false; c.skew = P.skew ? ri(2 * P.skew) - P.skew : 0; c.size = (P.mixed && faults && chance(0.15)) ? Math.max(1, tb + (chance(0.5) || nb > 3 ? 1 : -1)) : tb;
    spawn(c, loopQ(c, jobsQ, intake)); spawn(c, loopQ(c, batQ, runBatch)); spawn(c, loopQ(c, batQ, runBatch)); spawn(c, loopT(c, 30, orch)); spawn(c, loopT(c, RI, reclaimTurn)); spawn(c, loopT(c, 10, coordBeat)); }
  function kill(c, label) { log(label, c.id); for (const p of c.procs) if (p.op && p.op.fn && p.op.t !== 'r' && p.op.t !== 'recv' && P.delay && chance(0.4)) orphans.push(p.op.fn); for (const k of c.busy) busy.delete(k); c.procs = []; c.up = false; c.diedAt = lastKill = now; c.at = now + 5 + ri(200); }
  const pause = (c, d) => { c.paused = now + d; c.pausedAt = now; for (const p of c.procs) if (p.op && p.op.t !== 'sleep' && p.op.fn && !p.hasRes && chance(0.3)) { p.res = p.op.fn(c); p.hasRes = true; } };
  const ready = p => p.op && (p.op.t !== 'sleep' || p.op.until <= now);
  function step(p) {
    const op = p.op; let res;
    if (p.hasRes) { res = p.res; p.hasRes = false; }
    else if (op.t === 'die') { if ((!P.dieAt || P.dieAt === op.at) && on('die', 0.02)) { inc('died_before_send'); kill(p.c, 'DIES BEFORE SEND'); return; } }
    else if (op.t === 'poison') { inc('poisoned'); kill(p.c, 'POISON kills'); return; }
    else if (op.t === 'sleep' || op.t === 'r' || op.t === 'recv') res = op.fn ? op.fn(p.c) : undefined;
    else if (op.t === 'del') { if (on('reply', 0.06)) { log('delete lost'); inc('del_lost'); } else op.fn(); }
    else {
      op.tries = op.tries || 0;
      if (op.db && now < outageTill) { inc('outage_refused'); res = { unknown: true }; }
      else if (op.tries < 2 && on('reply', 0.04)) { op.fn(); op.tries++; inc('reply_lost_retry'); log(p.c.id, op.label, 'applied, reply lost, SDK retries'); return; }
      else if (on('reply', 0.012)) { op.fn(); inc('unknown_applied'); log(p.c.id, op.label, 'applied, unknown'); res = { unknown: true }; }
      else if (on('reply', 0.012)) { inc('unknown_not'); log(p.c.id, op.label, 'not applied, unknown'); res = { unknown: true }; }
      else if (on('late', 0.006)) { orphans.push(op.fn); inc('unknown_late'); log(p.c.id, op.label, 'unknown, lands later'); res = { unknown: true }; }
      else { if (on('delay', 0.02)) { orphans.push(op.fn); inc('delayed_dup'); log(p.c.id, op.label, 'first try delayed in the network'); } res = op.fn(); }
    }
    adv(p, res);
  }
  const faultEnd = P.faultTime || 150 + ri(1500); mkExec('T'); for (const c of coords) up(c);
  let steps = 0; const LIM = faultEnd + 20000;
  for (; ; steps++) {
    if (faults && now >= faultEnd) { faults = false; log('--- faults end'); }
    if (V.length && !P.keepGoing) break;
    if (now > LIM || steps > 150000) { viol('LIVENESS', `job ${job && job.status} run ${job && job.run} ${job && job.completed}+${job && job.failed}/${job && job.total} exec ${exs.map(e => e.status)}; batches ${[...B.values()].map(b => b.status + ':r' + b.run + ':' + b.c + '/' + b.f)}; q ${jobsQ.m.length}/${batQ.m.length}`); break; }
    for (const e of exs) { const t = tokens[e.cur];
      if (e.status === 'RUNNING') {
        if (t.open && now - e.last > HBT) { log('SFN heartbeat timeout', e.cur); inc('hb_timeout'); if (t.dropped) viol('I3-abandoned', `live token ${e.cur} was dropped from the row and never answered (job ${job.status})`); else if (!faults && now > faultEnd + 1000 && now - lastKill > 300 && job && job.token === e.cur) viol('I3-starved', `${e.cur} starved; job ${job.status} carries it`); t.open = false; t.closedAt = now; t.by = 'timeout'; if (e.retries > 0) { e.retries--; newToken(e, ri(60)); } else e.status = 'TIMED_OUT'; }
        else if (t.open && e.stops > 0 && on('stop', 0.0012)) { e.stops--; log('SFN stop', e.cur); inc('stop'); t.open = false; t.closedAt = now; t.by = 'stop'; e.status = 'STOPPED'; } }
      else if (e.status !== 'SUCCEEDED' && e.redrives > 0 && on('stop', 0.01)) { e.redrives--; inc('redrive'); newToken(e, ri(30)); } }
    if (faults) {
      for (const c of coords) if (c.up) {
        if (on('crash', 0.0015)) { inc('crash'); kill(c, 'CRASH'); }
        else if (!c.paused && on('pause', 0.002)) { inc('pause'); pause(c, 10 + ri(400)); log('PAUSE', c.id, 'until', c.paused); }
        else if (!c.draining && on('drain', 0.001)) { c.draining = true; c.drainAt = now + (P.norescue ? 300 : 25); inc('drain'); log('DRAIN', c.id); }
        else if (on('opcancel', 0.0003)) spawn(c, opCancel(c)); }
      if (on('freeze', 0.0004)) { const d = 20 + ri(100); inc('freeze'); log('FREEZE of all for', d); for (const c of coords) if (c.up && !c.paused) pause(c, d + ri(3)); }
      if (now >= outageTill && on('outage', 0.0004)) { outageTill = now + 20 + ri(100); inc('outage'); log('OUTAGE of the table until', outageTill); }
      if (batQ.m.length && on('lose', 0.0008)) { const m = batQ.m.splice(ri(batQ.m.length), 1)[0]; inc('lost_msg'); log('LOST message', JSON.stringify(m.body)); }
      if (jobsQ.m.length && on('loseJob', 0.0008)) { const m = jobsQ.m.splice(ri(jobsQ.m.length), 1)[0]; inc('lost_job_msg'); log('LOST job message', JSON.stringify(m.body)); }
      if (jobsQ.m.length && on('dup', 0.003)) { const m = jobsQ.m[ri(jobsQ.m.length)]; qsend(jobsQ, m.body, ri(400)); inc('dup_job'); log('dup job message', m.body.token); }
      if (on('dup', 0.0008)) { const ks = Object.keys(tokens), t = ks[ri(ks.length)]; qsend(jobsQ, { token: t }, ri(300)); inc('late_dup_job'); log('late dup job message', t); }
      if (batQ.m.length && on('dup', 0.001)) { const m = batQ.m[ri(batQ.m.length)]; qsend(batQ, m.body, ri(400)); inc('dup_bat'); }
      if (exs.length < 2 && on('twin', 0.0006)) { inc('twin'); log('a second execution sends the same jobId'); mkExec('U'); }
    } else if (outageTill > now) outageTill = now;
    for (const c of coords) { if (!c.up && now >= c.at) up(c); if (c.up && c.draining && (c.procs.every(p => p.dead || p.op.idle) && !c.busy.size || now >= c.drainAt)) kill(c, 'EXIT after drain'); if (c.paused && now >= c.paused) { c.paused = 0; log('WAKE', c.id); }
      if (c.up && !c.paused && c.held.size) for (const m of jobsQ.m) if (c.held.has(m.id) && m.vis - now < VT * 2 / 3 && m.vis > now) m.vis = now + VT; } // visibility heartbeat
    if (orphans.length && (chance(0.01) || (!faults && chance(0.05)))) { const f = orphans.splice(ri(orphans.length), 1)[0]; inc('orphan_applied'); log('late network write lands'); f(); }
    const cand = []; let next = Infinity;
    for (const c of coords) { if (!c.up) { next = Math.min(next, c.at); continue; } if (c.paused) { next = Math.min(next, c.paused); continue; } for (const p of c.procs) { if (p.dead) continue; if (ready(p)) cand.push(p); else if (p.op) next = Math.min(next, p.op.until); } if (c.procs.length > 9) c.procs = c.procs.filter(p => !p.dead); }
    if (!cand.length) { now = next === Infinity ? now + 1 : Math.max(now + 1, next); continue; }
    step(cand[ri(cand.length)]); if (chance(0.5)) now++;
    if (!faults && (!job || TERM[job.status]) && exs.every(e => e.status !== 'RUNNING') && !jobsQ.m.length && !batQ.m.length && !busy.size && !orphans.length && ![...B.values()].some(b => b.status === 'running') && coords.every(c => c.procs.every(p => p.dead || p.op.t === 'sleep' || p.op.t === 'recv' || p.op.t === 'r'))) break;
  }
  // ---------- at rest
  if (!V.length || P.keepGoing) {
    if (exs.some(e => e.status === 'SUCCEEDED') && job.status !== 'COMPLETED') viol('I3-mismatch', `execution SUCCEEDED, job ${job.status}`);
    if (job && job.status === 'COMPLETED' || (job && job.status === 'FAILED' && job.outcome === 'FAILED')) {
      const man = s3.get(job.resultKey); if (!man) viol('I5', 'no manifest'); else {
        if (man.run !== job.run || man.outcome !== job.outcome) viol('I5-manifest', `manifest of run ${man.run}/${man.outcome}, row ${job.run}/${job.outcome}`);
        const cnt = {}; let s = 0, f = 0; for (const k of man.files) { const l = s3.get(k); if (!l) { viol('I5-missing', k); continue; } for (const id of l) { (cnt[id] = cnt[id] || []).push(k[0]); k[0] === 'S' ? s++ : f++; } }
        for (let i = 0; i < total; i++) if (!cnt[i] || cnt[i].length !== 1) viol('I5-lines', `task ${i} has lines ${cnt[i] || 'none'}`);
        if (s !== job.completed || f !== job.failed) viol('I5-counts', `lines ${s}/${f}, counters ${job.completed}/${job.failed}`);
        for (let n = 0; n < job.batchCount; n++) { const r = B.get(n); if (r && r.run !== job.run && F.reopenAll) viol('I2-run', 'row run'); }
        for (const id in cnt) if (cnt[id][0] === 'S' && !s3.has('file/' + id)) viol('I5-file', id);
      } }
    inc('final_' + (job ? job.status : 'none'));
  }
  inc('model_time', now); return { V, T, S, steps, now, nc, nb, tb };
}
