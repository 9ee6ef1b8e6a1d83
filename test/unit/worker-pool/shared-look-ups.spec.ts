import { describe, expect, it } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { sharedLookUps, type Resolve } from '../../../src/worker-pool/threads/shared-look-ups.js';

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };

function bench() {
  const asked: { hostname: string; answer: Parameters<Resolve>[2] }[] = [];
  const lookUp = sharedLookUps((hostname, _options, answer) => void asked.push({ hostname, answer }));
  const told: string[] = [];
  const ask = (who: string, hostname: string, family?: 4 | 6) =>
    lookUp(hostname, { all: true, ...(family !== undefined && { family }) }, (error, addresses) => {
      told.push(`${who}: ${error?.code ?? addresses.map(({ address }) => address).join()}`);
    });
  return { asked, told, ask };
}

describe('look-ups', () => {
  it('of one name are one, and all who asked are told', () => {
    const { asked, told, ask } = bench();
    for (const who of ['a', 'b', 'c']) ask(who, 'files.example');
    expect(asked).toHaveLength(1);
    asked[0]?.answer(null, [ADDRESS]);
    expect(told).toEqual(['a: 192.0.2.1', 'b: 192.0.2.1', 'c: 192.0.2.1']);
  });

  it('that fail fail for all, and the next one asks again', () => {
    const { asked, told, ask } = bench();
    ask('a', 'files.example');
    ask('b', 'files.example');
    asked[0]?.answer(Object.assign(new Error('x'), { code: 'ENOTFOUND' }), []);
    ask('c', 'files.example');
    asked[1]?.answer(null, [ADDRESS]);
    expect(told).toEqual(['a: ENOTFOUND', 'b: ENOTFOUND', 'c: 192.0.2.1']);
  });

  it('of different names or families do not wait for each other', () => {
    const { asked, told, ask } = bench();
    ask('a', 'silent.example');
    ask('b', 'files.example', 4);
    ask('c', 'files.example', 6);
    expect(asked.map(({ hostname }) => hostname)).toEqual(['silent.example', 'files.example', 'files.example']);
    asked[1]?.answer(null, [ADDRESS]);
    expect(told).toEqual(['b: 192.0.2.1']);
  });
});
