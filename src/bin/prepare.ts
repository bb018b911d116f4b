/**
 * node src/bin/prepare.ts [--watch] [--again]
 * The first step of start.ts, in a process of its own that ends, so that start.ts stays small. It checks the settings,
 * prepares the data, tells start.ts which programs to run, prints the address once web is healthy, and ends.
 */
import { isRestoreOpen, isRestoreUnderWay } from '../features/backups/restore-state.ts';
import {
  configOrExit, httpAddress, loadConfigOrExit, localAddress, PROJECT_ROOT,
} from '../features/hub/read-config.ts';
import { confinedCommand, makeDataFolderOrExit, nodeFacts, watchedCommand } from '../app/processes/confined-command.ts';
import { prepareHub } from '../app/processes/prepare-hub.ts';
import { waitForHealth, type Listening } from '../app/processes/readiness.ts';
import type { Prepared } from '../app/processes/run-hub.ts';
import { DataInUseError } from '../platform/db/migration-files.ts';

const args = process.argv.slice(2);
const watch = args.includes('--watch');
if (args.some((arg) => !['--again', '--watch'].includes(arg))) endWith(2, 'usage: start.ts [--watch]');

const config = loadConfigOrExit(process.env);
const node = nodeFacts(process, PROJECT_ROOT);
const commands = configOrExit(() => ['web', 'worker'].map((name) =>
  watch ? watchedCommand(config, name, node) : confinedCommand(config, name, [], node)));
// With --watch, web runs under tsx, which passes no messages of web to start.ts: nobody would learn web's port.
if (watch && config.port === 0) endWith(2, 'PORT must not be 0 with --watch: every restart would change the port');
makeDataFolderOrExit(config.dataDir);

let setUpLink: string | null = null;
let failure: string | null = null;
try {
  setUpLink = prepareHub(config);
} catch (error) {
  failure = error instanceof Error ? error.message : String(error);
  // If the hub fails on restored data or a new version, start.ts waits for the previous data or version to return.
  const mayWait = isRestoreOpen(config.dataDir) && (args.includes('--again') || !isRestoreUnderWay(config.dataDir));
  if (error instanceof DataInUseError || !mayWait) endWith(error instanceof DataInUseError ? 75 : 1, failure);
}

process.once('disconnect', () => process.exit()); // start.ts has ended, or has closed its channel to prepare.ts
process.once('message', (message) => void announce(message as Listening));
process.send?.({ dataDir: config.dataDir, commands, failure } satisfies Prepared);
if (watch) void announce({ listening: config });

/** Prints the public address, which with PORT=0 and no BASE_URL is known only while web listens. */
async function announce({ listening: { host, port } }: Listening): Promise<void> {
  const address = localAddress(host, port);
  await waitForHealth(address);
  const assumed = httpAddress(config.host, 0);
  const actual = (text: string): string =>
    text === assumed || text.startsWith(`${assumed}/`) ? address + text.slice(assumed.length) : text;
  const lines = [`Content Hub is running at ${actual(config.baseUrl)}`];
  if (setUpLink !== null) lines.push(`Make the first account here (the link works once): ${actual(setUpLink)}`);
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exit();
}

function endWith(status: number, line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(status);
}
