import { join, relative, isAbsolute } from 'node:path';
import type { LogLevel } from '../platform/log.ts';
import type { Cidr } from '../platform/net/address-guard.ts';
import { httpAddress } from './local-address.ts';
import { bearerToken, cidrs, folder, host, integer, oneOf, origin } from './setting-values.ts';
import { createSettingsReader } from './settings-reader.ts';

export { ConfigError } from './settings-reader.ts';

export type Config = {
  readonly projectRoot: string;
  readonly dataDir: string;
  readonly databasePath: string;
  readonly migrationsDir: string;
  readonly host: string;
  readonly port: number; // 0: the system chooses
  readonly baseUrl: string; // an origin, no trailing slash
  readonly secure: boolean; // the public address is https
  readonly trustedProxies: readonly Cidr[];
  readonly logLevel: LogLevel;
  readonly syncConcurrency: number;
  readonly syncMaxAttempts: number;
  readonly outboundAllow: readonly Cidr[];
  readonly metricsToken: string | null;
  readonly version: string;
  readonly readPaths: readonly string[]; // secret files outside the project, which the processes must be let read
};

/** The configuration, checked and frozen. Throws ConfigError with every mistake. */
export function readConfig(
  env: Record<string, string | undefined>,
  files: { projectRoot: string; readFile: (path: string) => string },
): Config {
  const { projectRoot, readFile } = files;
  const read = createSettingsReader({ env, ...files });

  const settings = {
    host: read.value('HOST', host, '127.0.0.1'),
    port: read.value('PORT', integer(0, 65_535), '8080'),
    baseUrl: read.optional('BASE_URL', origin),
    trustedProxies: read.value('TRUSTED_PROXIES', cidrs, ''),
    dataDir: read.value('DATA_DIR', folder(projectRoot), 'data'),
    logLevel: read.value('LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error'), 'info'),
    syncConcurrency: read.value('SYNC_CONCURRENCY', integer(1, 64), '8'),
    syncMaxAttempts: read.value('SYNC_MAX_ATTEMPTS', integer(1, 100), '5'),
    outboundAllow: read.value('OUTBOUND_ALLOW', cidrs, ''),
    metricsToken: read.secret('METRICS_TOKEN', bearerToken),
  };

  // The processes may write all of DATA_DIR: were the project inside it, they could rewrite the program.
  if (isInside(settings.dataDir, projectRoot)) {
    read.problem('DATA_DIR must be a folder of its own, neither the project nor one that holds it');
  }
  const secretFiles = read.finish();
  const baseUrl = settings.baseUrl ?? httpAddress(settings.host, settings.port);

  return deepFreeze({
    ...settings,
    baseUrl,
    secure: baseUrl.startsWith('https:'),
    projectRoot,
    databasePath: join(settings.dataDir, 'hub.db'),
    migrationsDir: join(projectRoot, 'migrations'),
    version: packageVersion(readFile(join(projectRoot, 'package.json'))),
    readPaths: secretFiles.filter((path) => !isInside(projectRoot, path)),
  });
}

function packageVersion(text: string): string {
  const manifest: unknown = JSON.parse(text);
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json names no version');
}

function isInside(outer: string, path: string): boolean {
  const way = relative(outer, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
