/**
 * node src/bin/start.ts [--watch]
 * Runs the whole hub in the foreground: prepare.ts checks and prepares everything, then web and worker run. Ctrl-C or
 * SIGTERM stops them; --watch restarts them when a source file changes. This process lasts as long as the hub, so it
 * loads few modules: 32 MiB of memory instead of 78.
 */
import { join } from 'node:path';
import { isDatabaseUnsaved } from '../features/hub/database-note.ts';
import {
  listenForPause, noteProcess, runAroundRestores, runHub, startPreparation,
} from '../app/processes/run-hub.ts';
import { NO_DEBUGGER } from '../app/processes/supervise.ts';

const LONGEST_LINE = 1_000; // what a child says of its failure goes into the log
const AGAIN = '--again'; // an argument of start.ts and prepare.ts: this start follows a restore or an upgrade
const PROJECT_ROOT = join(import.meta.dirname, '../..');

const args = process.argv.slice(2);

// When 2.0.0 was upgraded, its start.ts began this one, without the flag.
if (!process.execArgv.includes(NO_DEBUGGER)) process.on('SIGUSR1', () => {});
const isPaused = listenForPause(); // listens for SIGUSR2 before prepare.ts runs, which may take long after an upgrade
process.umask(0o077);
process.chdir(PROJECT_ROOT);
const preparation = await startPreparation(args);
if (typeof preparation === 'number') process.exit(preparation);
const { prepared: { dataDir, commands, failure }, announce, end } = preparation;
noteProcess(dataDir, process.pid);
const problem = await runAroundRestores(dataDir, run, beginAnew);
if (problem !== null) process.stderr.write(`${problem}\n`);
process.exit(problem === null ? 0 : 1);

/** Replaces this process by the version that is installed now, perhaps with another Node, under the same process id. */
async function beginAnew(): Promise<never> {
  if (!process.execve) throw new Error(`Node cannot replace a process on ${process.platform}`);
  // The shell ignores SIGUSR2, which another restore may send before the shell has started start.ts again. If
  // find-node.sh finds no Node, the shell runs start.ts with this process's own Node ($0).
  const script = `trap '' USR2; root=$1 && . scripts/find-node.sh && shift && exec "\${node:-$0}" ${NO_DEBUGGER} "$@"`;
  const again = ['src/bin/start.ts', AGAIN, ...args.filter((arg) => arg !== AGAIN)];
  return process.execve('/bin/sh', ['sh', '-c', script, process.execPath, PROJECT_ROOT, ...again]);
}

async function run(): Promise<string | null> {
  const isSaving = (): boolean => isDatabaseUnsaved(dataDir);
  const areTogether = args.includes('--watch');
  const options = { cwd: PROJECT_ROOT, env: process.env, onListening: announce, areTogether, isSaving, isPaused };
  const reason = failure ?? await runHub(commands, options);
  end();
  return reason?.slice(0, LONGEST_LINE) ?? null;
}
