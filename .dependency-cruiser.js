/** The dependency rule of the architecture: features point one way, the hexagon points inwards. */
const FEATURES = ['intake', 'export-jobs', 'batches', 'worker-pool', 'fleet', 'waiting-room', 'ops', 'cli'];
const LOWER = {
  intake: ['batches', 'export-jobs', 'worker-pool'],
  batches: ['export-jobs', 'worker-pool'],
  'export-jobs': [],
  'worker-pool': [],
  fleet: ['batches', 'export-jobs'],
  'waiting-room': ['export-jobs'],
  ops: FEATURES,
  cli: FEATURES,
};

const featureRules = FEATURES.map((feature) => {
  const unreachable = FEATURES.filter((other) => other !== feature && !LOWER[feature].includes(other));
  return {
    name: `${feature}-points-down`,
    comment: `${feature} may use only ${LOWER[feature].join(', ') || 'itself'}`,
    severity: 'error',
    from: { path: `^src/${feature}/`, pathNot: '\\.module\\.ts$' },
    to: { path: `^src/(${unreachable.join('|')})/` },
  };
});

const doorRules = FEATURES.map((feature) => ({
  name: `${feature}-has-one-door`,
  comment: `other features use ${feature} through its index.ts`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/(${feature}/|app\\.module|main)` },
  to: { path: `^src/${feature}/`, pathNot: `^src/${feature}/(index|[^/]+\\.module)\\.ts$` },
}));

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    ...featureRules,
    ...doorRules,
    {
      name: 'domain-is-pure',
      comment: 'domain: own domain and shared; no npm, no node:',
      severity: 'error',
      from: { path: '^src/([^/]+)/domain/' },
      to: { pathNot: ['^src/$1/domain/', '^src/shared/'] },
    },
    {
      name: 'application-knows-no-adapter',
      severity: 'error',
      from: { path: '^src/([^/]+)/application/' },
      to: { path: ['^src/$1/adapters/', '^src/(platform|config)/'] },
    },
    {
      name: 'application-takes-only-nest-common-from-npm',
      severity: 'error',
      from: { path: '^src/[^/]+/application/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'core'], pathNot: 'node_modules/@nestjs/common/' },
    },
    {
      // A thread costs what it loads: no framework, no SDK client, no zod (docs/decisions/0010).
      name: 'threads-are-light',
      severity: 'error',
      from: { path: '^src/worker-pool/threads/' },
      to: {
        path: ['node_modules/(@nestjs/|@aws-sdk/client-|zod/)', '^src/(platform|config)/', '^src/worker-pool/(application|adapters)/'],
      },
    },
    {
      name: 'shared-imports-nothing',
      severity: 'error',
      from: { path: '^src/shared/' },
      to: { pathNot: '^src/shared/' },
    },
    {
      name: 'platform-and-config-know-no-feature',
      severity: 'error',
      from: { path: '^src/(platform|config)/' },
      to: { path: `^src/(${FEATURES.join('|')})/` },
    },
    {
      name: 'src-never-imports-infra-or-test',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(infra|test)/' },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
