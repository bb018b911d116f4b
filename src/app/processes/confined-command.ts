import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { timeOfBackup, timeOfInterim } from '../../features/backups/backup-name.ts';
import { ConfigError, loadConfig, PROJECT_ROOT, type Config } from '../../features/hub/read-config.ts';
import { isInside } from '../../features/hub/settings.ts';
import { codeOf } from '../../platform/error-code.ts';
import { MOST_LINKS, nameBehindLinks } from '../../platform/files/granted-name.ts';
import { NO_DEBUGGER, type StartCommand } from './supervise.ts';

type NodeFacts = {
  execPath: string;
  cwd: string;
  hasSqliteFlag: boolean; // whether node:sqlite, which opens files past the permission model, can be switched off
  hasNetFlag: boolean; // Node ≥ 25 denies the network without --allow-net; Node 24 rejects --allow-net
  hasRootLink: boolean; // whether this machine has the link /proc/self/root (see chooseNames)
};

export function nodeFacts({ execPath, allowedNodeEnvironmentFlags }: NodeJS.Process, cwd: string): NodeFacts {
  const hasNetFlag = allowedNodeEnvironmentFlags.has('--allow-net');
  const hasSqliteFlag = allowedNodeEnvironmentFlags.has('--no-experimental-sqlite');
  return { execPath, cwd, hasNetFlag, hasSqliteFlag, hasRootLink: existsSync(nameBehindLinks('/', 1)) };
}

export type ProcessAccess = Pick<Config, 'projectRoot' | 'secretFiles'> & Omit<NodeFacts, 'execPath'> & {
  dataDir: string; // Node grants its content only if the folder is there at the start
  backupDir?: string; // default: DATA_DIR; inside DATA_DIR it needs no grant of its own
  mayWriteBackups: boolean;
  folders?: readonly string[]; // folders that the process may read besides DATA_DIR and BACKUP_DIR
  needsNetwork: boolean;
};

/**
 * MiB. With a limit, V8 collects garbage sooner: a busy worker grows to 140 MiB instead of 300, at the same speed. The
 * limit of the worker's heap leaves room for eight feeds of 10 MiB at once. The limits on the young generation
 * (`--max-semi-space-size`) keep the web process at 145 MiB instead of 180 after many pages. In web, the young
 * generation has this size from the start, and one thread collects and compiles in place of four (`--v8-pool-size`):
 * together, they save a fifth of the processor's time for a signed event and 45 ms of the start, alone next to nothing.
 */
const V8_FLAGS: Record<string, string[]> = {
  web: ['--max-old-space-size=512', '--min-semi-space-size=4', '--max-semi-space-size=4', '--v8-pool-size=1'],
  worker: ['--max-old-space-size=512', '--max-semi-space-size=2'],
};

/**
 * Files of /proc that metrics and a restore (mount points) read. Never grant a folder of /proc: /proc/self/root is the
 * whole disk, and /proc/self/fd/N/.. is the folder above any folder that is open.
 */
const OWN_FACTS = ['/proc/self/status', '/proc/self/limits', '/proc/self/mountinfo'];

/**
 * Parts of the project that Node's permission model lets a process read. Folders with symbolic links, such as .runtime,
 * are missing from PROGRAM: a process could follow a link out of its granted folder, or copy a link with fs.cpSync so
 * that the copy leads elsewhere.
 */
const PROGRAM = { folders: ['src', 'migrations', 'node_modules/better-sqlite3'], files: ['package.json', '.env'] };

/** The commands of hubctl that use the network. Node 25 and later denies the network to hubctl's other commands. */
const ONLINE_COMMANDS = ['alerts', 'heartbeat', 'rehearse'];

/** The commands of hubctl that make no missing DATA_DIR, because the folder's name may be mistyped. */
const OF_A_HUB = [
  'account', 'alerts', 'config', 'doctor', 'drill', 'heartbeat', 'invite', 'jobs', 'offsite', 'recovery-kit',
  'retention', 'status',
];

/** Whether a missing DATA_DIR is made for this program. */
export function needsDataFolder(name: string, command = ''): boolean {
  return name !== 'hubctl' || !OF_A_HUB.includes(command);
}

/**
 * Makes a missing DATA_DIR with mode 0700 for an entrypoint; an existing DATA_DIR keeps its mode. The parent folder
 * must exist, so that an unmounted disk does not become a new, empty hub. A failure ends the process with 1 and one
 * line on standard error.
 */
export function makeDataFolderOrExit(dataDir: string): void {
  const problem = makeFolder(dataDir);
  if (problem === null) return;
  process.stderr.write(`DATA_DIR ${dataDir} ${problem}\n`);
  process.exit(1);
}

function makeFolder(path: string): string | null {
  try {
    mkdirSync(path, { mode: 0o700 });
    return null;
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    if (code === 'EEXIST') return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? null : 'is not a folder';
    if (code === 'ENOENT') return 'cannot be made: the folder above it does not exist';
    return `cannot be made (${code})`;
  }
}

/** Returns the command that starts src/bin/<name>.ts, confined by Node's permission model. Throws ConfigError. */
export function confinedCommand(config: Config, name: string, args: readonly string[], node: NodeFacts): StartCommand {
  const needsNetwork = name !== 'hubctl' || ONLINE_COMMANDS.includes(args[0] ?? '');
  const access = { ...config, ...node, needsNetwork, mayWriteBackups: name === 'hubctl' };
  const flags = [...V8_FLAGS[name] ?? [], ...permissionFlags(access)];
  return { name, file: node.execPath, args: [...flags, entrypoint(config.projectRoot, name), ...args] };
}

const READING = ['verify', 'restore begin', 'backup show', 'backup extract'].map((words) => words.split(' '));

/** The folder argument of a command in READING; undefined if `backup show` or `backup extract` gets a backup's name. */
export function folderToRead(name: string, args: readonly string[]): string | undefined {
  const words = READING.find((verb) => name === 'hubctl' && verb.every((word, at) => args[at] === word));
  const folder = words && args.slice(words.length).find((arg) => !arg.startsWith('-'));
  const isName = timeOfBackup(folder ?? '') !== undefined || timeOfInterim(folder ?? '') !== undefined;
  return words?.[0] === 'backup' && isName ? undefined : folder;
}

/** The command that lets hubctl read a folder, even if the operator's account may not read .env and DATA_DIR. */
export function verifyingCommand(
  env: Record<string, string | undefined>, folder: string, args: readonly string[], node: NodeFacts,
): StartCommand {
  const path = realPath(resolve(node.cwd, folder));
  const { dataDir = path, backupDir = dataDir, secretFiles = [] } = configOrNothing(env);
  const places = { projectRoot: PROJECT_ROOT, dataDir, backupDir, secretFiles };
  const folders = [path, resolve(node.cwd, folder)];
  const flags = permissionFlags({ ...places, folders, ...node, needsNetwork: false, mayWriteBackups: false });
  return { name: 'hubctl', file: node.execPath, args: [...flags, entrypoint(PROJECT_ROOT, 'hubctl'), ...args] };
}

/**
 * Returns the command that starts the clamd bridge, with fewer rights than the hub: it reads its own source and .env,
 * writes nothing and starts no other process. Node's permission model grants Unix sockets without a flag for the path.
 */
export function bridgeCommand(projectRoot: string, args: readonly string[], node: NodeFacts): StartCommand {
  const readable = ['src', 'package.json', '.env'].map((path) => join(projectRoot, path));
  const flags = [
    '--max-old-space-size=64', // MiB: the clamd bridge holds pieces of files, never a whole file
    ...closingFlags(node),
    ...readable.map((path) => `--allow-fs-read=${path}`),
    ...networkFlags({ ...node, needsNetwork: true }),
  ];
  const name = 'clamd-bridge';
  return { name, file: node.execPath, args: [...flags, entrypoint(projectRoot, name), ...args] };
}

/** Returns the command that runs a program under tsx, unconfined: tsx compiles files and starts processes. */
export function watchedCommand({ projectRoot }: Config, name: string, node: NodeFacts): StartCommand {
  const tsx = join(projectRoot, 'node_modules/tsx/dist/cli.mjs');
  return { name, file: node.execPath, args: [tsx, 'watch', '--clear-screen=false', entrypoint(projectRoot, name)] };
}

/**
 * The flags with which Node's permission model confines a process of the hub. The process may read the program, its
 * settings and secret files, DATA_DIR, BACKUP_DIR, `folders` and `OWN_FACTS`, may write DATA_DIR (with
 * `mayWriteBackups` also BACKUP_DIR), and may start no other process. Node's flags do not confine SQLite, whose ATTACH
 * opens any file that the account may open: for this reason no SQL contains text of users, and the systemd units
 * confine SQLite too. Throws ConfigError if Node cannot grant every path.
 */
export function permissionFlags(access: ProcessAccess): string[] {
  const { projectRoot, secretFiles, dataDir, backupDir = dataDir, mayWriteBackups, folders = [], ...node } = access;
  const apart = isInside(dataDir, backupDir) ? [] : [backupDir];
  const names = chooseNames([
    ...foldersAt(...PROGRAM.folders.map((path) => join(projectRoot, path))),
    ...filesAt(...PROGRAM.files.map((path) => join(projectRoot, path)), ...OWN_FACTS),
    ...foldersAt(dataDir, ...apart),
    ...filesAt(...secretFiles),
    ...foldersAt(...folders),
  ], node.hasRootLink);
  const nameOf = (path: string): string => names.get(path) ?? path;
  // BACKUP_DIR may be mounted later. If a folder is missing at the start, Node grants its files only if the permission
  // flag has an asterisk: `--allow-fs-read=BACKUP_DIR/*`.
  const backups = apart.map(nameOf).flatMap((name) => [name, `${name}/*`]);
  const readable = [...new Set([...names.values(), ...backups])];
  const written = [nameOf(dataDir), ...mayWriteBackups ? backups : []];
  return [
    ...closingFlags(node),
    // Shorter paths come first: Node denies a folder if an earlier flag grants a path within that folder.
    ...readable.toSorted((a, b) => a.length - b.length).map((path) => `--allow-fs-read=${path}`),
    ...written.map((path) => `--allow-fs-write=${withoutComma(path, node.cwd)}`),
    '--allow-addons',
    '--disable-warning=SecurityWarning', // hides Node's warning of --allow-addons at every start
    ...networkFlags(node),
  ];
}

function foldersAt(...paths: string[]): ReadablePath[] {
  return paths.map((path) => ({ path, isFolder: true }));
}

function filesAt(...paths: string[]): ReadablePath[] {
  return paths.map((path) => ({ path, isFolder: false }));
}

function closingFlags({ hasSqliteFlag }: Pick<NodeFacts, 'hasSqliteFlag'>): string[] {
  return ['--permission', NO_DEBUGGER, ...hasSqliteFlag ? ['--no-experimental-sqlite'] : []];
}

function networkFlags({ hasNetFlag, needsNetwork }: Pick<ProcessAccess, 'hasNetFlag' | 'needsNetwork'>): string[] {
  return hasNetFlag ? [...needsNetwork ? ['--allow-net'] : [], '--disable-warning=ExperimentalWarning'] : [];
}

/** Node warns of commas in --allow-fs-write. Relative to `cwd`, a path has no commas from folders above both. */
function withoutComma(path: string, cwd: string): string {
  return path.includes(',') ? relative(cwd, path) || '.' : path;
}

function entrypoint(projectRoot: string, name: string): string {
  return join(projectRoot, 'src/bin', `${name}.ts`);
}

function configOrNothing(env: Record<string, string | undefined>): Partial<Config> {
  try {
    return loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return {};
    throw error;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // hubctl reports that the backup folder is missing
  }
}

type ReadablePath = { path: string; isFolder: boolean };

type Named = ReadablePath & { name: string };

/**
 * Chooses for each path the name for Node's flags --allow-fs-read and --allow-fs-write. Node denies a granted folder
 * /x/data if /x/data-y is granted, so the later of two such paths gets a name behind /proc/self/root (written up to
 * MOST_LINKS times), if Linux has this link. Throws ConfigError with both paths if Node cannot grant both.
 */
export function chooseNames(places: readonly ReadablePath[], hasRootLink: boolean): Map<string, string> {
  const chosen = new Map<string, Named>();
  for (const place of places) {
    if (chosen.has(place.path)) continue;
    chosen.set(place.path, { ...place, name: freeName(place, [...chosen.values()], hasRootLink) });
  }
  return new Map([...chosen].map(([path, { name }]) => [path, name]));
}

function freeName(place: ReadablePath, chosen: readonly Named[], hasRootLink: boolean): string {
  const rivalOf = (name: string): Named | undefined => chosen.find((other) => areBeside(other, { ...place, name }));
  for (let links = 0; links <= (hasRootLink ? MOST_LINKS : 0); links++) {
    const name = nameBehindLinks(place.path, links);
    if (!rivalOf(name)) return name;
  }
  const rival = rivalOf(place.path)?.path;
  throw new ConfigError([`Node cannot grant both ${rival} and ${place.path}, because they begin alike. Rename one.`]);
}

/** Whether Node would deny one because its name is a prefix of the other's (/x/data beside /x/data-y). */
function areBeside(one: Named, other: Named): boolean {
  const [shorter, longer] = one.name.length < other.name.length ? [one, other] : [other, one];
  if (!shorter.isFolder || shorter.name === longer.name || shorter.name === '/') return false;
  return longer.name.startsWith(shorter.name) && longer.name[shorter.name.length] !== '/';
}
