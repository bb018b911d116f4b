/**
 * node src/bin/start.ts [--watch]
 * The whole hub in the foreground: prepares the data, runs web and worker, prints the address once web is healthy.
 * Ctrl-C or SIGTERM stops both. --watch restarts them when a source file changes.
 */
import { httpAddress, loadConfigOrExit, PROJECT_ROOT } from '../features/hub/read-config.ts';
import { makeDataFolderOrExit } from '../app/processes/data-folder.ts';
import { prepareHub } from '../app/processes/prepare-hub.ts';
import { noteProcess, runAroundRestores, runHub } from '../app/processes/run-hub.ts';
import { DataInUseError } from '../platform/db/migration-files.ts';

const args = process.argv.slice(2);
const watch = args.includes('--watch');
if (args.some((arg) => arg !== '--watch')) endWith(2, 'usage: start.ts [--watch]');

process.umask(0o077);
process.chdir(PROJECT_ROOT);
const config = loadConfigOrExit(process.env);
if (watch && config.port === 0) endWith(2, 'PORT must not be 0 while developing: web would move at every change');
makeDataFolderOrExit(config.dataDir);

let setUpLink: string | null = null;
try {
  prepare();
} catch (error) {
  endWith(error instanceof DataInUseError ? 75 : 1, error instanceof Error ? error.message : String(error));
}
noteProcess(config.dataDir, process.pid);
const problem = await runAroundRestores(config.dataDir, run, prepare);
if (problem !== null) endWith(1, problem);
process.exit(0);

function run(): Promise<string | null> {
  return runHub(config, {
    node: {
      execPath: process.execPath,
      cwd: PROJECT_ROOT,
      hasNetFlag: process.allowedNodeEnvironmentFlags.has('--allow-net'),
    },
    env: process.env,
    watch,
    onReady: announce,
  });
}

function prepare(): void {
  setUpLink = prepareHub(config);
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
