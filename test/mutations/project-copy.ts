import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runProgram } from '../support/run-program.ts';
import type { TestOutcome } from './report-outcomes.ts';

/** A copy of the project in a temporary folder, where anything may be changed. */
export type ProjectCopy = {
  folder: string;
  /** Runs tests of one file by their names. One that is not there has no outcome. */
  runTests(test: string, names: string[]): Promise<TestOutcome[]>;
  remove(): void;
};

/**
 * What tests need of the project; not the settings in .env, nor a hub's data. Packages are among it, because confined
 * processes of the hub may not follow a link out of the project.
 */
const COPIED = ['src', 'test', 'scripts', 'migrations', 'data/.gitkeep', 'package.json', 'package-lock.json',
  'tsconfig.json', 'README.md', 'LICENSE', '.npmrc', '.gitignore', '.env.example', '.ci', 'node_modules'];

const REPORTER = join(import.meta.dirname, 'report-outcomes.ts');
const TEST_TIMEOUT_MS = 300_000;

/** Copies the project. What its tests leave in their temporary folder, or running, ends with each run. */
export function copyProject(root: string): ProjectCopy {
  const parent = mkdtempSync(join(tmpdir(), `mutated-${process.pid}-`));
  const [folder, scratch] = [join(parent, 'hub'), join(parent, 'tmp')];
  for (const name of COPIED.filter((name) => existsSync(join(root, name)))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(root, name), join(folder, name), { recursive: true, verbatimSymlinks: true });
  }

  return {
    folder,

    async runTests(test, names) {
      mkdirSync(scratch);
      const env = {
        PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', TMPDIR: scratch,
        NODE_COMPILE_CACHE: join(parent, 'compiled'),
      };
      const { stdout } = await runProgram(process.execPath, argumentsFor(test, names), { cwd: folder, env });
      endProcessesIn(parent);
      rmSync(scratch, { recursive: true, force: true });
      const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
      return lines.map((line) => JSON.parse(line) as TestOutcome);
    },

    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
}

function argumentsFor(test: string, names: string[]): string[] {
  const patterns = names.map((name) => `--test-name-pattern=^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
  return [
    '--test', `--test-timeout=${TEST_TIMEOUT_MS}`, '--test-force-exit', `--test-reporter=${REPORTER}`, ...patterns, test,
  ];
}

/** A test that fails may leave a hub running, which would hold its port against the next one. */
function endProcessesIn(folder: string): void {
  if (!existsSync('/proc/self/cwd')) return;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      continue; // it has ended, or is somebody else's
    }
  }
}
