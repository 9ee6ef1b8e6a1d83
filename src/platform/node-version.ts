/** The oldest Node that runs us: the one that everything is tested with. */
export const OLDEST_NODE_MAJOR = 24;

/** What is wrong with the Node that runs, with the mend; undefined when nothing is. */
export function nodeVersionProblem(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= OLDEST_NODE_MAJOR) return undefined;
  return (
    `This is Node ${version}, and the export worker needs Node ${OLDEST_NODE_MAJOR} or newer. ` +
    'A checkout brings its own after npm ci: use npm start or npx export-worker, or node_modules/.bin/node in place of node'
  );
}

/**
 * Ends the process with exit code 1 under a Node that is too old. To be called before anything else is loaded: modules that import what
 * an old Node does not have end with a SyntaxError that names no version.
 */
export function refuseOldNode(): void {
  const problem = nodeVersionProblem(process.versions.node);
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
