// `npm run test:mutations [-- WORD…]`: breaks each promise on purpose, in copies of the project, and runs the test that
// has to notice. Words choose the mutations whose promise or file has one of them.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';

const COPIED = ['src', 'test', 'scripts', 'migrations', 'data', 'package.json', 'package-lock.json', 'tsconfig.json',
  'README.md', '.npmrc', '.env.example'];
const LINKED = ['node_modules', '.runtime'];

/** `kept`: the test passes as it should. `noise`: why the mutation says nothing. */
type Result = { mutation: Mutation; caught: boolean; noise?: string };

function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'hub-mutated-'));
  for (const name of COPIED) cpSync(join(PROJECT_ROOT, name), join(copy, name), { recursive: true });
  for (const name of LINKED) symlinkSync(join(PROJECT_ROOT, name), join(copy, name));
  return copy;
}

/** Runs the one named test in a copy. Resolves to whether it ran, and whether it passed. */
async function runNamed(copy: string, { test, name }: Mutation): Promise<{ ran: boolean; passed: boolean }> {
  const pattern = `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
  const args = ['--test', '--test-timeout=120000', '--test-reporter=tap', `--test-name-pattern=${pattern}`, test];
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };
  const { stdout } = await runProgram(process.execPath, args, { cwd: copy, env });
  const found = /^\s*(not )?ok \d+ - (?!.*# SKIP)/m.test(stdout) && stdout.includes(` - ${name.replaceAll('#', '\\#')}`);
  return { ran: found, passed: !/^\s*not ok /m.test(stdout) };
}

async function attempt(copy: string, mutation: Mutation): Promise<Result> {
  const path = join(copy, mutation.file);
  const before = readFileSync(path, 'utf8');
  const places = before.split(mutation.from).length - 1;
  if (places !== 1) return { mutation, caught: false, noise: `the text to change is there ${places} times` };
  const healthy = await runNamed(copy, mutation);
  if (!healthy.ran || !healthy.passed) {
    return { mutation, caught: false, noise: healthy.ran ? 'the test fails without it' : 'there is no such test' };
  }
  writeFileSync(path, before.replace(mutation.from, () => mutation.to));
  try {
    return { mutation, caught: !(await runNamed(copy, mutation)).passed };
  } finally {
    writeFileSync(path, before);
  }
}

function report({ mutation: { promise, file, test }, caught, noise }: Result): void {
  const verdict = noise === undefined ? (caught ? 'caught' : 'NOT CAUGHT') : `UNUSABLE (${noise})`;
  process.stdout.write(`${verdict}: ${promise} (${file}, by ${test})\n`);
}

const words = process.argv.slice(2);
const waiting = MUTATIONS.filter(({ promise, file }) =>
  words.length === 0 || words.some((word) => `${promise} ${file}`.includes(word)));
const total = waiting.length;
const results: Result[] = [];

await Promise.all(Array.from({ length: Math.min(availableParallelism(), total) }, async () => {
  const copy = copyProject();
  try {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const result = await attempt(copy, next);
      results.push(result);
      report(result);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}));

const caught = results.filter((result) => result.caught).length;
process.stdout.write(`\n${caught} of ${total} mutations caught\n`);
process.exitCode = caught === total && total > 0 ? 0 : 1;
