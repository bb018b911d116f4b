/**
 * node src/bin/launch.ts <web|worker|hubctl|clamd-bridge> [argument…]
 * Becomes the named program, confined by Node's permission model, with the same process id and open files (execve).
 */
import {
  bridgeCommand, confinedCommand, folderToRead, makeDataFolderOrExit, needsDataFolder, nodeFacts, verifyingCommand,
} from '../app/processes/confined-command.ts';
import { MALLOC_SETTINGS, NO_PROXY, type StartCommand } from '../app/processes/supervise.ts';
import { configOrExit, loadConfigOrExit, PROJECT_ROOT } from '../features/hub/read-config.ts';

const PROGRAMS = ['web', 'worker', 'hubctl', 'clamd-bridge'];

const [name = '', ...args] = process.argv.slice(2);
if (!PROGRAMS.includes(name)) {
  process.stderr.write(`usage: launch.ts <${PROGRAMS.join('|')}> [argument…]\n`);
  process.exit(2);
}

process.umask(0o077);
const node = nodeFacts(process, process.cwd());
const command = name === 'clamd-bridge' ? bridgeCommand(PROJECT_ROOT, args, node) : configOrExit(hubCommand);
if (!process.execve) throw new Error(`Node cannot replace a process on ${process.platform}`);
const env = { ...MALLOC_SETTINGS, ...process.env, ...NO_PROXY };
process.execve(command.file, [command.file, ...command.args], env);

function hubCommand(): StartCommand {
  const folder = folderToRead(name, args);
  if (folder !== undefined) return verifyingCommand(process.env, folder, args, node);
  const config = loadConfigOrExit(process.env);
  if (needsDataFolder(name, args[0])) makeDataFolderOrExit(config.dataDir);
  return confinedCommand(config, name, args, node);
}
