/** One known fault: a rule of the protocol, taken out of the code in one place. */
export interface Mutation {
  /** The beginning of the rule's title. One of the tests that turn red must carry it in its name: others catch a fault by luck. */
  rule: string;
  /** What is done wrong. */
  fault: string;
  /** The source that is changed, from the root of the repository. */
  file: string;
  /** Stands in the source exactly once. */
  find: string;
  replace: string;
  /** The specs that must turn red, from `test/`. */
  specs: readonly string[];
}

/** @throws unless the text to be replaced stands in the source exactly once: who refactors a rule's code changes its mutation too */
export function mutate(source: string, { rule, fault, file, find, replace }: Mutation): string {
  const parts = source.split(find);
  if (parts.length !== 2)
    throw new Error(`${rule} (${fault}): ${file} must hold this text once, and holds it ${parts.length - 1} times:\n${find}`);
  return parts.join(replace);
}
