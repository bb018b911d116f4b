/**
 * node src/bin/launch.ts <web|worker|hubctl> [argument…]
 * Becomes that program, confined by Node's permission model: same process id, signals and standard streams.
 */
import { loadConfigOrExit } from '../app/load-config.ts';
import { makeDataFolderOrExit } from '../app/data-folder.ts';
import { confinedCommand } from '../app/hub-commands.ts';

const PROGRAMS = ['web', 'worker', 'hubctl'];

const [name = '', ...args] = process.argv.slice(2);
if (!PROGRAMS.includes(name)) {
  process.stderr.write(`usage: launch.ts <${PROGRAMS.join('|')}> [argument…]\n`);
  process.exit(2);
}

process.umask(0o077);
const config = loadConfigOrExit(process.env);
makeDataFolderOrExit(config.dataDir);

const hasNetFlag = process.allowedNodeEnvironmentFlags.has('--allow-net');
const command = confinedCommand(config, name, args, { execPath: process.execPath, cwd: process.cwd(), hasNetFlag });
if (!process.execve) throw new Error(`Node cannot replace a process on ${process.platform}`);
process.execve(command.file, [command.file, ...command.args], process.env);
