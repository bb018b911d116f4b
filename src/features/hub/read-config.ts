import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { codeOf, messageOf } from '../../platform/error-code.ts';
import { grantedName } from '../../platform/files/granted-name.ts';
import {
  doubtfulNames, hashFileSettings, misspeltNames, parseEnvFile, variableNames, type FileSettings,
} from './env-file.ts';
import {
  problemsTogether, SETTINGS, type Setting, type SettingList, type Settings, type SettingValues,
} from './settings.ts';

/** The project's folder, which contains package.json. */
export const PROJECT_ROOT = resolve(import.meta.dirname, '../../..');

const UNSAFE_TLS = 'NODE_TLS_REJECT_UNAUTHORIZED must not be 0: alerts and uploads would go to whoever answers; ' +
  'to trust an authority of your own, set NODE_EXTRA_CA_CERTS to its certificate';

const WILDCARDS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export type Config = Omit<Settings, 'backupDir' | 'baseUrl'> & {
  readonly baseUrl: string; // an origin without a trailing slash
  readonly backupDir: string; // the folder of the backups on this machine
  readonly secure: boolean; // the public address of the hub is https
  readonly hostNames: readonly string[] | null; // accepted names besides localhost and IP addresses; null: any name
  readonly projectRoot: string;
  readonly databasePath: string;
  readonly migrationsDir: string;
  readonly version: string;
  readonly doubtfulNames: readonly string[]; // warnings about environment variables whose names resemble settings
  readonly fileSettings: FileSettings; // hashes of the values that .env had when this process read it
  readonly secretFiles: readonly string[]; // the files from which secret settings were read
};

/** Reports the mistakes in the configuration together; of a setting, its variable's name and what it must be. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(['the configuration is invalid:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export type SettingsSource = {
  env: Record<string, string | undefined>;
  fileNames?: readonly string[]; // the names that .env defines
  fileSettings?: FileSettings;
  projectRoot: string;
  readFile: (path: string, encoding?: 'latin1') => string; // reads a file as UTF-8 by default
  nameOf?: (path: string) => string; // the spelling of a path to which Node's permission model gives access
};

/** Reads the environment and .env. Throws ConfigError for a malformed .env, else for all other mistakes at once. */
export function loadConfig(env: Record<string, string | undefined>, projectRoot: string = PROJECT_ROOT): Config {
  const source = settingsSource(env, projectRoot);
  return readConfig(source.env, source);
}

/** For entrypoints: `loadConfig`, but a mistake prints every problem to standard error and exits with status 2. */
export function loadConfigOrExit(env: Record<string, string | undefined>): Config {
  return configOrExit(() => loadConfig(env));
}

/** Returns the settings that `load` reads; on ConfigError, prints every problem to stderr and exits with status 2. */
export function configOrExit<Value>(load: () => Value): Value {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** Checks the configuration and returns it frozen. Throws ConfigError, which lists every mistake. */
export function readConfig(
  env: Record<string, string | undefined>, files: Omit<SettingsSource, 'env'>,
): Config {
  const { projectRoot, readFile, fileNames = [], fileSettings = {}, nameOf = (path) => path } = files;
  const { values, problems, secretFiles } = readSettings(SETTINGS, { env, ...files });
  const known = variableNames(SETTINGS);
  problems.push(...problemsTogether(values, projectRoot), ...misspeltNames(fileNames, known));
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') problems.push(UNSAFE_TLS);
  if (problems.length > 0) throw new ConfigError(problems);
  const baseUrl = values.baseUrl ?? httpAddress(values.host, values.port);
  const dataDir = nameOf(values.dataDir);
  const backupDir = values.backupDir === null ? join(dataDir, 'backups') : nameOf(values.backupDir);
  return deepFreeze({
    ...values,
    dataDir,
    backupDir,
    baseUrl,
    secure: baseUrl.startsWith('https:'),
    hostNames: hostNames(values),
    projectRoot,
    databasePath: join(dataDir, 'hub.db'),
    migrationsDir: join(projectRoot, 'migrations'),
    version: packageVersion(readFile(join(projectRoot, 'package.json'))),
    fileSettings,
    doubtfulNames: doubtfulNames(Object.keys(env).filter((name) => !fileNames.includes(name)), known),
    secretFiles,
  });
}

/** Against DNS rebinding: only that of BASE_URL; without one, none if the hub listens only on this machine. */
function hostNames({ baseUrl, host }: Pick<Settings, 'baseUrl' | 'host'>): string[] | null {
  if (baseUrl !== null) return [new URL(baseUrl).hostname];
  return /^(?:localhost|127\.[\d.]+|::1)$/i.test(host) ? [] : null;
}

/** Returns the values of the settings, the mistakes in them, and the files with secrets. */
export function readSettings<List extends SettingList>(list: List, { env, projectRoot, readFile }: SettingsSource) {
  const problems: string[] = [];
  const secretFiles: string[] = [];
  const values = Object.entries(list).map(([key, setting]) => [key, read(setting)]);
  return { values: Object.fromEntries(values) as SettingValues<List>, problems, secretFiles };

  /** Returns a setting's value; after a mistake its default, so that later checks of several settings can run. */
  function read(setting: Setting<unknown>): unknown {
    const { name, parse, secret } = setting;
    const fallback = setting.default === null ? null : parse(setting.default, projectRoot);
    const file = secret && env[`${name}_FILE`];
    const text = secret === 'bytes' ? undefined : env[name];
    if (file !== undefined && text !== undefined) {
      problems.push(`${name} and ${name}_FILE are both set; set only one of them`);
      return fallback;
    }
    try {
      if (file !== undefined) return parse(readSecret(file, secret === 'bytes'), projectRoot);
      return text === undefined ? fallback : parse(text, projectRoot);
    } catch (error) {
      problems.push(`${file === undefined ? name : `${name}_FILE`} ${messageOf(error)}`);
      return fallback;
    }
  }

  function readSecret(file: string, isBytes: boolean): string {
    const path = resolve(projectRoot, file);
    try {
      const text = isBytes ? readFile(path, 'latin1') : readFile(path).replace(/\r?\n$/, '');
      secretFiles.push(path);
      return text;
    } catch (error) {
      const code = codeOf(error);
      throw new Error(`must name a readable file${code === undefined ? '' : ` (${code})`}`);
    }
  }
}

/** The environment variables, and those of .env that the environment lacks. Throws ConfigError if .env is bad. */
export function settingsSource(
  env: Record<string, string | undefined>, projectRoot: string = PROJECT_ROOT,
): SettingsSource {
  const nameOf = grantedName;
  const readFile = (path: string, encoding: BufferEncoding = 'utf8'): string => readFileSync(nameOf(path), encoding);
  const entries = readEnvFile(projectRoot);
  const fileSettings = hashFileSettings(entries, env);
  return { env: { ...entries, ...env }, fileNames: Object.keys(entries), fileSettings, projectRoot, readFile, nameOf };
}

/** The settings in `fileSettings` whose values in .env have changed since; empty if .env cannot be read or parsed. */
export function changedSettings({ projectRoot, fileSettings: before }: Config): string[] {
  try {
    const now = hashFileSettings(readEnvFile(projectRoot), {});
    return Object.keys(before).filter((name) => now[name] !== before[name]);
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

/** The files with secrets, perhaps .env among them, whose mode lets every account of this machine read them. */
export function exposedSecrets({ projectRoot, secretFiles }: Pick<Config, 'projectRoot' | 'secretFiles'>): string[] {
  const mayRead = (path: string): boolean =>
    ((statSync(grantedName(path), { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
  const env = join(projectRoot, '.env');
  return [...mayRead(env) && holdsSecret(projectRoot) ? [env] : [], ...secretFiles.filter(mayRead)];
}

/** Whether .env has a secret setting, or an address with a user name or password. */
function holdsSecret(projectRoot: string): boolean {
  const { entries } = parseEnvFile(envFileText(projectRoot));
  const isSecret = ({ name, secret }: Setting<unknown>): boolean => secret !== undefined && Boolean(entries[name]);
  return Object.values(SETTINGS).some(isSecret) || Object.values(entries).some((value) => /:\/\/[^/\s]*@/.test(value));
}

function readEnvFile(projectRoot: string): Record<string, string> {
  const { entries, problems } = parseEnvFile(envFileText(projectRoot));
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `.env ${problem}`));
  return entries;
}

function envFileText(projectRoot: string): string {
  try {
    return readFileSync(grantedName(join(projectRoot, '.env')), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw new ConfigError([`.env cannot be read (${codeOf(error)})`]);
  }
}

/** `http://HOST:PORT`, an IPv6 address in brackets. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The address at which this machine reaches a server that listens on `host`: loopback for a wildcard address. */
export function localAddress(host: string, port: number): string {
  return httpAddress(WILDCARDS[host] ?? host, port);
}

export function hubUserAgent({ version, baseUrl }: Config): string {
  return `ContentHub/${version} (+${baseUrl})`;
}

function packageVersion(text: string): string {
  const manifest: unknown = JSON.parse(text);
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json has no version');
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
