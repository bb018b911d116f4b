import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from './bench-row.ts';

const PROJECT = join(import.meta.dirname, '../..');

/** Version 1.0.1. Each comparison has it, so that small losses from release to release cannot add up. */
const FIRST = '471be93b';

/** A row is marked whose spread ends below this. */
const LEAST = 0.95;

/** Rows that one of two versions lacks, each with its reason: they are not marked. */
const LACKING: { row: RegExp; why: string }[] = [
  { row: /^sync .*, links of their own/, why: 'the feeds of version 1.0.1’s bench have their links in common' },
  { row: /^fairness first synchronisation /, why: 'measured since version 2.1.0' },
  { row: /^start .* to the first /, why: 'measured since version 2.1.0' },
  { row: /^memory start: /, why: 'measured since version 2.1.0' },
  { row: /^search /, why: 'measured since version 2.1.0' },
];

const LACKING_IN_FIRST: typeof LACKING = [
  { row: /^(?:full-text|interim|memory|reader-api|routes|rules) /, why: 'version 1.0.1 has no such bench' },
];

/** A row as run-bench.ts prints it. `figure`: how much better than the peer; higher is better. */
export type PrintedRow = { bench: string; name: string; figure: number };

/** What a row says of two versions. `spread`: the least and the greatest quotient of a round. */
export type Compared =
  | { bench: string; name: string; quotient: number; spread: [least: number, greatest: number]; isMarked: boolean }
  | { bench: string; name: string; lacking: 'here' | 'there'; why: string | null; isMarked: boolean };

/** The rows in the output of a bench. */
export function readRows(output: string): PrintedRow[] {
  let bench = '';
  const rows = output.split('\n').flatMap((line) => {
    if (/^[a-z][a-z-]*$/.test(line)) bench = line;
    const found = /^ {2}(.+?): ([\d.,e+-]+) [^;]*; (.*): ([\d.,e+-]+) [^;]*; ratio (\S+) \(wanted /.exec(line);
    if (!found) return [];
    const [, printed = '', ours = '', peer = '', theirs = '', ratio = ''] = found;
    const name = printed.replace(/least gain \(.*\)/, 'least gain'); // of whichever document
    return [{ bench, name, peer, figure: precise(numberOf(ours), numberOf(theirs), Number(ratio)) }];
  });
  const times = (one: PrintedRow): number =>
    rows.filter(({ bench, name }) => bench === one.bench && name === one.name).length;
  return rows.map(({ peer, ...row }) => (times(row) === 1 ? row : { ...row, name: `${row.name}, beside ${peer}` }));
}

function numberOf(printed: string): number {
  return Number(printed.replaceAll(',', ''));
}

/** The ratio has two decimals, which are too few for a small one; the figures beside it have three digits. */
function precise(ours: number, peer: number, ratio: number): number {
  const [found] = [ours / peer, peer / ours].filter((quotient) => Math.abs(quotient - ratio) <= 0.02 * ratio + 0.006);
  return found ?? ratio;
}

/** Compares the rows of rounds that alternated: `here[n]` and `there[n]` ran one after the other. */
export function compareRounds(here: PrintedRow[][], there: PrintedRow[][], lacking = LACKING): Compared[] {
  const keyOf = ({ bench, name }: PrintedRow): string => `${bench}\n${name}`;
  const figures = (rounds: PrintedRow[][], key: string): (number | undefined)[] =>
    rounds.map((rows) => rows.find((row) => keyOf(row) === key)?.figure);
  const keys = new Set([...here, ...there].flat().map(keyOf));
  return [...keys].map((key) => {
    const [bench = '', name = ''] = key.split('\n');
    const [ours, theirs] = [figures(here, key), figures(there, key)];
    const quotients = ours.flatMap((figure, n) => {
      const other = theirs[n];
      return figure === undefined || other === undefined ? [] : [figure / other];
    });
    if (quotients.length === 0) {
      const why = lacking.find(({ row }) => row.test(`${bench} ${name}`))?.why ?? null;
      const isHere = ours.some((figure) => figure !== undefined);
      return { bench, name, lacking: isHere ? 'there' : 'here', why, isMarked: why === null };
    }
    const spread: [number, number] = [Math.min(...quotients), Math.max(...quotients)];
    return { bench, name, quotient: median(quotients), spread, isMarked: !(spread[1] >= LEAST) };
  });
}

function lineOf(row: Compared): string {
  const mark = row.isMarked ? '  <<<' : '';
  if ('lacking' in row) {
    const what = row.lacking === 'here' ? 'not in the working tree' : 'only in the working tree';
    return `   –                   ${row.name}: ${row.why ?? what}${mark}\n`;
  }
  const [least, greatest] = row.spread;
  return `  ${row.quotient.toFixed(2)} (${least.toFixed(2)} to ${greatest.toFixed(2)})  ${row.name}${mark}\n`;
}

type Version = { name: string; folder: string; rounds: PrintedRow[][] };

/**
 * Runs benches of the working tree and of releases in alternation, each version with its own benches, on the fixtures
 * beside the working tree. Prints each row's quotient: above 1 the working tree is better. Returns the exit code: 1 if
 * a row is marked.
 */
export async function compareVersions(names: string[], reference: string, rounds: number): Promise<number> {
  const here: Version = { name: 'the working tree', folder: PROJECT, rounds: [] };
  const beside = mkdtempSync(join(tmpdir(), 'bench-versions-'));
  const commits = new Set([reference, FIRST].map(commitOf));
  const releases = [...commits].map((commit) => ({ name: commit.slice(0, 8), folder: join(beside, commit, 'project'), rounds: [] }));
  process.once('exit', () => {
    rmSync(beside, { recursive: true, force: true });
    git('worktree', 'prune');
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  for (const release of releases) checkOut(release);
  for (let round = 1; round <= rounds; round++) {
    for (const version of [here, ...releases]) {
      process.stderr.write(`round ${round} of ${rounds}: ${version.name}\n`);
      version.rounds.push(readRows(await runBenches(version, names)));
    }
  }
  return Math.max(...releases.map((release) => report(here, release)));
}

/** Throws if the project has no such commit. */
export function commitOf(reference: string): string {
  return git('rev-parse', '--verify', '--quiet', '--end-of-options', `${reference}^{commit}`).trim();
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', PROJECT, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function checkOut({ name, folder }: Version): void {
  process.stderr.write(`setting up ${name}\n`);
  mkdirSync(join(folder, '..'), { recursive: true });
  symlinkSync(join(PROJECT, '../shared'), join(folder, '../shared'));
  git('worktree', 'add', '--detach', folder, name);
  const env = { ...process.env, HUB_NODE: process.execPath };
  execFileSync('sh', ['scripts/set-up.sh', 'test/bench'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Resolves to what the benches print; of those that a version lacks, to what is left. */
async function runBenches({ folder }: Version, names: string[]): Promise<string> {
  let output = '';
  for (const name of names) {
    const child = spawn(process.execPath, ['test/bench/run-bench.ts', name], {
      cwd: folder, env: { ...process.env, HUB_NODE: process.execPath }, stdio: ['ignore', 'pipe', 'ignore'],
    });
    for await (const piece of child.stdout.setEncoding('utf8')) output += String(piece);
  }
  return output;
}

function report(here: Version, there: Version): 0 | 1 {
  const differing = git('diff', '--name-only', there.name, '--', 'test/bench').trim().split('\n').filter(Boolean);
  process.stdout.write(`\n${here.name} beside ${there.name}, ${here.rounds.length} rounds; <<< marks what ends below ${LEAST}\n`);
  const lacking = there.name === FIRST ? [...LACKING, ...LACKING_IN_FIRST] : LACKING;
  const rows = compareRounds(here.rounds, there.rounds, lacking);
  for (const [bench, some] of Map.groupBy(rows, (row) => row.bench)) {
    process.stdout.write(`\n${bench}\n${some.map(lineOf).join('')}`);
  }
  if (differing.length > 0) process.stdout.write(`\nfiles of benches that differ: ${differing.join(', ')}\n`);
  return rows.some(({ isMarked }) => isMarked) || rows.length === 0 ? 1 : 0;
}
