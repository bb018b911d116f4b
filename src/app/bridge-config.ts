import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogLevel } from '../platform/log.ts';
import type { ClamdAddress } from '../platform/net/clamd-client.ts';
import { mergedEnvironment, PROJECT_ROOT } from '../features/hub/load-config.ts';
import { host, integer, oneOf } from '../features/hub/setting-values.ts';
import { ConfigError, createSettingsReader, type SettingsSource } from '../features/hub/settings-reader.ts';

export type BridgeConfig = {
  readonly clamd: ClamdAddress;
  readonly port: number; // on 127.0.0.1; 0: the system chooses
  readonly maxBytes: number; // of one file; clamd's own StreamMaxLength and MaxFileSize must not be below
  readonly logLevel: LogLevel;
};

const MAX_SOCKET_PATH = 107; // bytes: sun_path of unix(7) without its final NUL

/** The clamd bridge's part of the configuration. Throws ConfigError with every mistake. */
export function readBridgeConfig(source: SettingsSource): BridgeConfig {
  const read = createSettingsReader(source);
  const config: BridgeConfig = {
    clamd: read.value('CLAMD_ADDRESS', clamdAddress, '/run/clamav/clamd.ctl'),
    port: read.value('CLAMD_BRIDGE_PORT', integer(0, 65_535), '3311'),
    maxBytes: read.value('CLAMD_STREAM_MAX_BYTES', integer(1, 2 ** 31 - 1), '26214400'),
    logLevel: read.value('LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error'), 'info'),
  };
  read.finish();
  return config;
}

/** For entrypoints, out of the environment and .env: mistakes end the process with 2, each named on standard error. */
export function loadBridgeConfigOrExit(env: Record<string, string | undefined>): BridgeConfig {
  const readFile = (path: string): string => readFileSync(path, 'utf8');
  try {
    const merged = mergedEnvironment(env, join(PROJECT_ROOT, '.env'), readFile);
    return readBridgeConfig({ env: merged, projectRoot: PROJECT_ROOT, readFile });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** The path of a Unix socket, or host:port with an IPv6 address in brackets. */
function clamdAddress(text: string): ClamdAddress {
  if (text.startsWith('/') && Buffer.byteLength(text) <= MAX_SOCKET_PATH) return { path: text };
  const [, bracketed, name, port = ''] = /^(?:\[([^\]]*)\]|([^:/]*)):(\d+)$/.exec(text) ?? [];
  try {
    return { host: host(bracketed ?? name ?? ''), port: integer(1, 65_535)(port) };
  } catch {
    throw new Error(`must be the path of a Unix socket (at most ${MAX_SOCKET_PATH} bytes) or host:port, for example ` +
      '/run/clamav/clamd.ctl or 127.0.0.1:3310');
  }
}
