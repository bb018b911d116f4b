/**
 * node src/bin/start.ts [--watch]
 * The whole hub in the foreground: prepares the data, runs web and worker, prints the address once web is healthy.
 * Ctrl-C or SIGTERM stops both. --watch restarts them when a source file changes.
 */
import { isRestoreOpen, isRestoreUnderWay } from '../features/backups/restore-state.ts';
import { configOrExit, httpAddress, loadConfigOrExit, PROJECT_ROOT } from '../features/hub/read-config.ts';
import { confinedCommand, makeDataFolderOrExit, nodeFacts } from '../app/processes/confined-command.ts';
import { prepareHub } from '../app/processes/prepare-hub.ts';
import { noteProcess, runAroundRestores, runHub } from '../app/processes/run-hub.ts';
import { DataInUseError } from '../platform/db/migration-files.ts';

const AGAIN = '--again'; // with which this process begins anew after a restore or an upgrade

const args = process.argv.slice(2);
const watch = args.includes('--watch');
if (args.some((arg) => ![AGAIN, '--watch'].includes(arg))) endWith(2, 'usage: start.ts [--watch]');

process.umask(0o077);
process.chdir(PROJECT_ROOT);
const config = loadConfigOrExit(process.env);
const node = nodeFacts(process, PROJECT_ROOT);
if (!watch) configOrExit(() => confinedCommand(config, 'web', [], node)); // refuses now what Node cannot grant
if (watch && config.port === 0) endWith(2, 'PORT must not be 0 while developing: web would move at every change');
makeDataFolderOrExit(config.dataDir);

let setUpLink: string | null = null;
let failure: string | null = null;
try {
  setUpLink = prepareHub(config);
} catch (error) {
  failure = error instanceof Error ? error.message : String(error);
  // On restored data, or after an upgrade, this process has to wait for what was there before.
  const mayWait = isRestoreOpen(config.dataDir) && (args.includes(AGAIN) || !isRestoreUnderWay(config.dataDir));
  if (error instanceof DataInUseError || !mayWait) endWith(error instanceof DataInUseError ? 75 : 1, failure);
}
noteProcess(config.dataDir, process.pid);
const problem = await runAroundRestores(config.dataDir, run, beginAnew);
if (problem !== null) endWith(1, problem);
process.exit(0);

/** Becomes npm start as it is now in the project: same process id, terminal and arguments, perhaps another Node. */
async function beginAnew(): Promise<never> {
  if (!process.execve) throw new Error(`Node cannot replace a process on ${process.platform}`);
  // Until noteProcess listens again, the signal of the next restore must not end it.
  const script = `trap '' USR2; root=$1 && . scripts/find-node.sh && shift && exec "$node" "$@"`;
  const again = ['src/bin/start.ts', AGAIN, ...args.filter((arg) => arg !== AGAIN)];
  return process.execve('/bin/sh', ['sh', '-c', script, 'sh', PROJECT_ROOT, ...again]);
}

async function run(): Promise<string | null> {
  return failure ?? runHub(config, {
    node,
    env: process.env,
    watch,
    onReady: announce,
  });
}

/** With PORT=0 and no BASE_URL the public address is only known now. */
function announce(localAddress: string): void {
  const assumed = httpAddress(config.host, 0);
  const actual = (text: string): string =>
    text === assumed || text.startsWith(`${assumed}/`) ? localAddress + text.slice(assumed.length) : text;
  const lines = [`Content Hub is running at ${actual(config.baseUrl)}`];
  if (setUpLink !== null) lines.push(`Make the first account here (the link works once): ${actual(setUpLink)}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function endWith(status: number, line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(status);
}
