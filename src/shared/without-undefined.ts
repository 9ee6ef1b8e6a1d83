/** As a schema types it: optional properties are there with the value `undefined`. */
type Loose<T> = { [K in keyof T]: undefined extends T[K] ? unknown : T[K] };

/** zod types an absent optional attribute as `undefined`; in entities absent attributes are absent. */
export function withoutUndefined<T extends object>(row: Loose<T>): T {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as T;
}
