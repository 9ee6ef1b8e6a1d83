import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { judge, parseReport, readReport, type SpecsRun, type Verdict } from './jest-report.js';
import { mutate, type Mutation } from './mutation.js';

/** What the specs need of the repository. */
const COPIED = ['src', 'test', 'infra', 'package.json', 'jest.config.js', 'tsconfig.json'];
/** A run takes one to four seconds; a mutation that makes the code spin is ended after this. */
const RUN_LIMIT_MS = 90_000;
/** Of one test: a mutation may make it wait for what never comes. */
const TEST_LIMIT_MS = 10_000;

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

  /** Puts the fault in, runs the specs that must see it, and takes it out again. @throws when it is aborted */
  async try(mutation: Mutation, signal: AbortSignal): Promise<Verdict> {
    const file = join(this.root, mutation.file);
    const source = await readFile(file, 'utf8');
    await writeFile(file, mutate(source, mutation));
    try {
      return judge(await this.run(mutation.specs, signal, RUN_LIMIT_MS), mutation.rule);
    } finally {
      await writeFile(file, source);
    }
  }

  /** @throws when it is aborted */
  async run(specs: readonly string[], signal: AbortSignal, limitMs: number): Promise<SpecsRun> {
    const output = join(this.folder, 'report.json');
    await rm(output, { force: true });
    const projects = [...new Set(specs.map((spec) => spec.split('/')[0] ?? ''))];
    const limit = AbortSignal.timeout(limitMs);
    // All failed tests are wanted, so there is no --bail, which writes no report either.
    const options = ['--json', '--outputFile', output, '--cacheDirectory', join(this.folder, 'cache'), '--selectProjects', ...projects];
    options.push('--runInBand', '--forceExit', '--ci', '--testTimeout', String(TEST_LIMIT_MS), '--runTestsByPath');
    const files = specs.map((spec) => join('test', spec));
    const messages = await this.jest([...options, ...files], AbortSignal.any([signal, limit]));
    signal.throwIfAborted();
    if (limit.aborted) return { kind: 'hung' };
    const json = await readFile(output, 'utf8').catch(() => undefined);
    return json === undefined ? { kind: 'not-run', why: `jest wrote no report: ${messages.trim()}` } : readReport(parseReport(json));
  }

  /** Resolves with what jest wrote for people once it has ended, however it ended. */
  private jest(args: readonly string[], signal: AbortSignal): Promise<string> {
    return new Promise((resolve) => {
      const node = ['--experimental-vm-modules', '--no-warnings', join('node_modules', 'jest', 'bin', 'jest.js')];
      const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];
      const child = spawn(process.execPath, [...node, ...args], { cwd: this.root, stdio, signal, killSignal: 'SIGKILL' });
      let messages = '';
      const keep = (text: string) => {
        messages += text;
      };
      child.stderr.setEncoding('utf8').on('data', keep);
      child.on('error', (error) => keep(error.message));
      child.on('close', () => resolve(messages));
    });
  }
}
