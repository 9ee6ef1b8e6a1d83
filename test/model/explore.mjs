// node explore.mjs fixed N [seed0] [k=v ...]        all rules on
// node explore.mjs without <rule>[,<rule>] N [seed0] [k=v]
// node explore.mjs text N [seed0] [k=v]             the design text before the proposed sentences (PROPOSED off)
// node explore.mjs trace <seed> <rule|-|text> [k=v]
import { run, RULES, PROPOSED, all } from './model.mjs';
const main = process.argv[1]?.endsWith("explore.mjs"); const [mode, ...a] = main ? process.argv.slice(2) : [];
const kv = Object.fromEntries(a.filter(x => x.includes('=')).map(x => { const [k, v] = x.split('='); return [k, isNaN(v) ? v : Number(v)]; }));
const pos = a.filter(x => !x.includes('='));
export const offs = s => { const F = all(true); for (const k of (s || '').split(',')) if (k === 'text') for (const p of PROPOSED) F[p] = false; else if (k.startsWith('+')) F[k.slice(1)] = true; else if (k && k !== '-') { if (!(k in RULES)) throw Error('no rule ' + k); F[k] = false; } return F; };
export function explore(F, N, s0 = 1, opt = {}) { const inv = {}, S = {}; let bad = 0, steps = 0; for (let s = s0; s < s0 + N; s++) { let r; try { r = run(s, F, opt); } catch (e) { e.message += ' seed ' + s; throw e; } steps += r.steps; for (const k in r.S) S[k] = k.startsWith('max_') ? Math.max(S[k] || 0, r.S[k]) : (S[k] || 0) + r.S[k]; if (r.V.length) { bad++; const v = r.V[0]; const e = inv[v.inv] = inv[v.inv] || { n: 0, best: null }; e.n++; if (!e.best || r.steps < e.best.w) e.best = { w: r.steps, seed: s, msg: v.msg }; } } return { inv, S, bad, steps }; }
if (mode === 'fixed' || mode === 'without' || mode === 'text') {
  const F = offs(mode === 'fixed' ? '-' : mode === 'text' ? 'text' : pos.shift()); const N = Number(pos[0] || 1000), s0 = Number(pos[1] || 1);
  const t = Date.now(); const r = explore(F, N, s0, kv); console.log(process.argv.slice(2).join(' '), '|', N, 'runs', r.bad, 'bad', r.steps, 'steps', (Date.now() - t) / 1000, 's'); for (const k in r.inv) console.log('  ', k, r.inv[k].n, JSON.stringify(r.inv[k].best)); if (!kv.quiet) console.log(JSON.stringify(r.S));
} else if (mode === 'trace') { const r = run(Number(pos[0]), offs(pos[1]), { ...kv, trace: true }); console.log(r.T.join('\n')); console.log(r.V, r.nc, 'coords', r.nb, 'x', r.tb); }
