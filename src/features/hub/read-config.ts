import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import { EnvFileError, readEnvironment } from './env-file.ts';
import {
  isInside, problemsTogether, SETTINGS, type Setting, type SettingList, type Settings, type SettingValues,
} from './settings.ts';

/** The folder that holds package.json. */
export const PROJECT_ROOT = resolve(import.meta.dirname, '../../..');

const WILDCARDS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Every setting, and what follows from them. */
export type Config = Omit<Settings, 'baseUrl'> & {
  readonly baseUrl: string; // an origin, no trailing slash
  readonly secure: boolean; // the public address is https
  readonly projectRoot: string;
  readonly databasePath: string;
  readonly migrationsDir: string;
  readonly version: string;
  readonly readPaths: readonly string[]; // secret files outside the project, which the processes must be let read
};

/** Every mistake in the configuration at once, each by variable name with what would be valid. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(['the configuration cannot be used:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export type SettingsSource = {
  env: Record<string, string | undefined>;
  projectRoot: string;
  /** Each byte becomes a character with 'latin1'; UTF-8 otherwise. */
  readFile: (path: string, encoding?: 'latin1') => string;
};

/** The configuration out of the environment and the project's .env. Throws ConfigError with every mistake. */
export function loadConfig(env: Record<string, string | undefined>, projectRoot: string = PROJECT_ROOT): Config {
  const source = settingsSource(env, projectRoot);
  return readConfig(source.env, source);
}

/** For entrypoints: as loadConfig, but a mistake ends the process with 2 and every problem on standard error. */
export function loadConfigOrExit(env: Record<string, string | undefined>): Config {
  return configOrExit(() => loadConfig(env));
}

/** What `load` returns; a ConfigError ends the process with 2 and every problem on standard error. */
export function configOrExit<Value>(load: () => Value): Value {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** The configuration, checked and frozen. Throws ConfigError with every mistake. */
export function readConfig(
  env: Record<string, string | undefined>, files: Pick<SettingsSource, 'projectRoot' | 'readFile'>,
): Config {
  const { projectRoot, readFile } = files;
  const { values, problems, secretFiles } = readSettings(SETTINGS, { env, ...files });
  problems.push(...problemsTogether(values, projectRoot));
  if (problems.length > 0) throw new ConfigError(problems);
  const baseUrl = values.baseUrl ?? httpAddress(values.host, values.port);
  return deepFreeze({
    ...values,
    baseUrl,
    secure: baseUrl.startsWith('https:'),
    projectRoot,
    databasePath: join(values.dataDir, 'hub.db'),
    migrationsDir: join(projectRoot, 'migrations'),
    version: packageVersion(readFile(join(projectRoot, 'package.json'))),
    readPaths: secretFiles.filter((path) => !isInside(projectRoot, path)),
  });
}

/** The value of each setting, what is wrong with any, and the files that secrets were read from. */
export function readSettings<List extends SettingList>(list: List, { env, projectRoot, readFile }: SettingsSource) {
  const problems: string[] = [];
  const secretFiles: string[] = [];
  const values = Object.entries(list).map(([key, setting]) => [key, read(setting)]);
  return { values: Object.fromEntries(values) as SettingValues<List>, problems, secretFiles };

  /** After a mistake the default goes on to the checks of several settings. */
  function read(setting: Setting<unknown>): unknown {
    const { name, parse, secret } = setting;
    const fallback = setting.default === null ? null : parse(setting.default, projectRoot);
    const file = secret && env[`${name}_FILE`];
    const text = secret === 'bytes' ? undefined : env[name];
    if (file !== undefined && text !== undefined) {
      problems.push(`${name} and ${name}_FILE are both set; give one of them`);
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
    const text = readable(() => (isBytes ? readFile(path, 'latin1') : readFile(path).replace(/\r?\n$/, '')));
    secretFiles.push(path);
    return text;
  }
}

/** The environment, with what the project's .env adds to it. Throws ConfigError where that cannot be understood. */
export function settingsSource(
  env: Record<string, string | undefined>, projectRoot: string = PROJECT_ROOT,
): SettingsSource {
  const readFile = (path: string, encoding: BufferEncoding = 'utf8'): string => readFileSync(path, encoding);
  try {
    return { env: readEnvironment(env, readFile(join(projectRoot, '.env'))), projectRoot, readFile };
  } catch (error) {
    if (error instanceof EnvFileError) throw new ConfigError(error.problems.map((problem) => `.env ${problem}`));
    if (codeOf(error) === 'ENOENT') return { env, projectRoot, readFile };
    throw new ConfigError([`.env cannot be read (${codeOf(error)})`]);
  }
}

/** `http://HOST:PORT`, an IPv6 address in brackets. */
export function httpAddress(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Where this machine itself reaches a server that listens on `host`: for "every address" that is loopback. */
export function localAddress(host: string, port: number): string {
  return httpAddress(WILDCARDS[host] ?? host, port);
}

/** How the hub introduces itself to other servers. */
export function hubUserAgent({ version, baseUrl }: Config): string {
  return `ContentHub/${version} (+${baseUrl})`;
}

function packageVersion(text: string): string {
  const manifest: unknown = JSON.parse(text);
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json names no version');
}

function readable(read: () => string): string {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    throw new Error(`must name a file that can be read${code === undefined ? '' : ` (${code})`}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'cannot be used';
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
