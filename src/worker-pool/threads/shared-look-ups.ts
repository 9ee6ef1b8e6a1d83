import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** As `dns.lookup` with `all`. */
export type Resolve = (hostname: string, options: LookupAllOptions, answer: Answer) => void;

/**
 * One look-up of a name at a time, for all who ask meanwhile. `dns.lookup` holds one of the few threads that files and zlib share with it,
 * and nothing ends it: where a resolver is silent, each task of the same dead host would take one more, up to the last.
 */
export function sharedLookUps(resolve: Resolve = lookup): Resolve {
  const waiting = new Map<string, Answer[]>();
  return (hostname, options, answer) => {
    const key = JSON.stringify([hostname, options.family, options.hints]);
    const others = waiting.get(key);
    if (others !== undefined) return void others.push(answer);
    const all = [answer];
    waiting.set(key, all);
    resolve(hostname, options, (error, addresses) => {
      waiting.delete(key);
      for (const each of all) each(error, addresses);
    });
  };
}
