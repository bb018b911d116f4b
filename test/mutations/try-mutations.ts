import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyProject, type ProjectCopy } from './project-copy.ts';
import type { TestOutcome } from './report-outcomes.ts';

/** A promise that is broken on purpose: `from`, which stands once in `file`, becomes `to`, and the named test fails. */
export type Mutation = {
  promise: string;
  file: string;
  from: string;
  to: string;
  test: string; // the file
  name: string; // of the test in it
};

/**
 * `caught`: the named test passes, and fails once the promise is broken. `missed`: it passes all the same. `unusable`:
 * the list is wrong, so that nothing was shown. `why`: what the test said, or what is wrong with the list.
 */
export type Verdict = { mutation: Mutation; result: 'caught' | 'missed' | 'unusable'; why: string };

type TryOptions = {
  /** The project; nothing in it is changed. */
  root: string;
  mutations: readonly Mutation[];
  /** How many are tried at the same time, each in a copy of its own. */
  atOnce: number;
  onVerdict?: (verdict: Verdict) => void;
};

/** Tries each mutation in a copy of the project. The copies are gone when it resolves. */
export async function tryMutations({ root, mutations, atOnce, onVerdict = () => {} }: TryOptions): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const tell = (verdict: Verdict): void => {
    verdicts.push(verdict);
    onVerdict(verdict);
  };
  const usable: Mutation[] = [];
  for (const mutation of mutations) {
    const why = listProblem(root, mutation);
    if (why === undefined) usable.push(mutation);
    else tell({ mutation, result: 'unusable', why });
  }
  const copies = Array.from({ length: Math.min(atOnce, usable.length) }, () => copyProject(root));
  const removeCopies = (): void => copies.forEach((copy) => copy.remove());
  process.once('exit', removeCopies); // of Ctrl-C too, where the caller exits on it
  try {
    await tryInCopies(copies, usable, tell);
  } finally {
    removeCopies();
    process.off('exit', removeCopies);
  }
  return verdicts;
}

/** First all tests as they are, each file once; then each mutation whose test passes. */
async function tryInCopies(copies: ProjectCopy[], mutations: Mutation[], tell: (verdict: Verdict) => void): Promise<void> {
  const healthy = new Map<string, TestOutcome[]>();
  await share(copies, [...Map.groupBy(mutations, ({ test }) => test)], async (copy, [test, ofFile]) => {
    healthy.set(test, await copy.runTests(test, ofFile.map(({ name }) => name)));
  });
  await share(copies, mutations, async (copy, mutation) => {
    const why = healthProblem(healthy.get(mutation.test) ?? [], mutation);
    tell(why === undefined ? await attempt(copy, mutation) : { mutation, result: 'unusable', why });
  });
}

/** The copies take one item after the other until none is left. */
async function share<Item>(
  copies: ProjectCopy[], items: Item[], work: (copy: ProjectCopy, item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  await Promise.all(copies.map(async (copy) => {
    for (const item of waiting) await work(copy, item);
  }));
}

async function attempt(copy: ProjectCopy, mutation: Mutation): Promise<Verdict> {
  const path = join(copy.folder, mutation.file);
  const before = readFileSync(path, 'utf8');
  writeFileSync(path, before.replace(mutation.from, () => mutation.to));
  try {
    const outcomes = await copy.runTests(mutation.test, [mutation.name]);
    return judge(mutation, outcomes.find(({ name }) => name === mutation.name), outcomes);
  } finally {
    writeFileSync(path, before);
  }
}

/** A program that does not even start breaks every promise: that some test fails then shows nothing. */
function judge(mutation: Mutation, outcome: TestOutcome | undefined, all: TestOutcome[]): Verdict {
  if (outcome?.ended === 'failed') return { mutation, result: 'caught', why: outcome.why };
  if (outcome?.ended === 'passed') return { mutation, result: 'missed', why: 'the test passes all the same' };
  return { mutation, result: 'unusable', why: `the changed program does not start: ${all[0]?.why ?? 'no test ran'}` };
}

function listProblem(root: string, { file, from, to, test }: Mutation): string | undefined {
  const places = placesOf(root, file, from);
  if (places !== 1) {
    const now = filesWith(root, from).join(', ');
    return `the text to change stands in ${file} ${places} times${now ? `, once in ${now}` : ''}: ${from.trim()}`;
  }
  if (!existsSync(join(root, test))) return `there is no file ${test}`;
  return from === to ? 'it changes nothing' : undefined;
}

function placesOf(root: string, file: string, text: string): number {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8').split(text).length - 1 : 0;
}

/** Where a text that was moved may be by now. */
function filesWith(root: string, text: string): string[] {
  const folders = ['src', 'scripts', 'migrations'].filter((folder) => existsSync(join(root, folder)));
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))));
  return files.filter((file) => /\.(?:ts|sh|sql)$/.test(file) && placesOf(root, file, text) === 1);
}

function healthProblem(outcomes: TestOutcome[], { name }: Mutation): string | undefined {
  const found = outcomes.filter((outcome) => outcome.name === name);
  if (found.length > 1) return `${found.length} tests have this name: ${name}`;
  switch (found[0]?.ended) {
    case 'passed': return undefined;
    case 'failed': return `the test fails without it: ${found[0].why}`;
    case 'skipped': return `the test is skipped here: ${found[0].why}`;
    default: return `there is no such test: ${name}`;
  }
}
