import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { judge, parseReport, type JestReport, type Verdict } from './jest-report.js';
import { mutate, type Mutation } from './mutation.js';

/** What the specs need of the repository. */
const COPIED = ['src', 'test', 'infra', 'package.json', 'jest.config.js', 'tsconfig.json'];
/** A run takes two to four seconds; a mutation that makes the code spin is ended after this. */
const RUN_LIMIT_MS = 90_000;
/** Of one test: a mutation may make it wait for what never comes. */
const TEST_LIMIT_MS = 5_000;

/** A copy of the repository in a temporary folder, on which one run goes on at a time. The work tree is only read. */
export class Lane {
  private readonly folder: string;
  private readonly root: string;

  private constructor(folder: string, root: string) {
    this.folder = folder;
    this.root = root;
  }

  static async create(repository: string, folder: string): Promise<Lane> {
    const root = join(folder, 'copy');
    await mkdir(root, { recursive: true });
    for (const entry of COPIED) await cp(join(repository, entry), join(root, entry), { recursive: true });
    await symlink(join(repository, 'node_modules'), join(root, 'node_modules'));
    return new Lane(folder, root);
  }

  /** Puts the fault in, runs the specs that must see it, and takes it out again. */
  async try(mutation: Mutation, signal: AbortSignal): Promise<Verdict> {
    const file = join(this.root, mutation.file);
    const source = await readFile(file, 'utf8');
    await writeFile(file, mutate(source, mutation));
    try {
      const report = await this.run(mutation.specs, signal);
      return report === 'hung' ? { kind: 'hung' } : judge(report, mutation.rule);
    } finally {
      await writeFile(file, source);
    }
  }

  /** @throws when it is aborted, or jest wrote no report */
  async run(specs: readonly string[], signal: AbortSignal): Promise<JestReport | 'hung'> {
    const output = join(this.folder, 'report.json');
    await rm(output, { force: true });
    const projects = [...new Set(specs.map((spec) => spec.split('/')[0] ?? ''))];
    const limit = AbortSignal.timeout(RUN_LIMIT_MS);
    const messages = await this.jest(
      [
        ...['--selectProjects', ...projects, '--json', '--outputFile', output, '--cacheDirectory', join(this.folder, 'cache')],
        ...['--runInBand', '--forceExit', '--ci', '--testTimeout', String(TEST_LIMIT_MS), '--runTestsByPath'],
        ...specs.map((spec) => join('test', spec)),
      ],
      AbortSignal.any([signal, limit]),
    );
    signal.throwIfAborted();
    if (limit.aborted) return 'hung';
    const json = await readFile(output, 'utf8').catch(() => undefined);
    if (json === undefined) throw new Error(`jest wrote no report:\n${messages}`);
    return parseReport(json);
  }

  /** Resolves with what jest wrote for people once it has ended, however it ended. */
  private jest(args: readonly string[], signal: AbortSignal): Promise<string> {
    return new Promise((resolve) => {
      const node = ['--experimental-vm-modules', '--no-warnings', join('node_modules', 'jest', 'bin', 'jest.js')];
      const child = spawn(process.execPath, [...node, ...args], {
        cwd: this.root,
        stdio: ['ignore', 'ignore', 'pipe'],
        signal,
        killSignal: 'SIGKILL',
      });
      let messages = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text));
      child.on('error', (error) => (messages += error.message));
      child.on('close', () => resolve(messages));
    });
  }
}
