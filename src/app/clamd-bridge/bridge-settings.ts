import type { ClamdAddress } from '../../platform/net/clamd-client.ts';
import { ConfigError, readSettings, type SettingsSource } from '../../features/hub/read-config.ts';
import { misspeltNames, variableNames } from '../../features/hub/env-file.ts';
import { host, integer } from '../../features/hub/setting-values.ts';
import { SETTINGS, type SettingList, type SettingValues } from '../../features/hub/settings.ts';

const MAX_SOCKET_PATH = 107; // bytes of a socket's path: sun_path of unix(7) without its final NUL

export const BRIDGE_SETTINGS = {
  clamd: {
    name: 'CLAMD_ADDRESS', parse: clamdAddress, default: '/run/clamav/clamd.ctl',
    meaning: "the address of clamd: its Unix socket, or `host:port`",
  },
  port: {
    name: 'CLAMD_BRIDGE_PORT', parse: integer(0, 65_535), default: '3311',
    meaning: 'the port on 127.0.0.1 on which the bridge listens',
  },
  maxBytes: {
    name: 'CLAMD_STREAM_MAX_BYTES', parse: integer(1, 2 ** 31 - 1), default: '26214400',
    meaning: "the size of the largest file that the bridge sends to clamd; must not exceed clamd's `MaxFileSize`, " +
      'because clamd reports larger files as clean',
  },
  logLevel: SETTINGS.logLevel,
} satisfies SettingList;

type BridgeConfig = SettingValues<typeof BRIDGE_SETTINGS>;

/** Throws ConfigError with every mistake. */
export function readBridgeConfig(source: SettingsSource): BridgeConfig {
  const { values, problems } = readSettings(BRIDGE_SETTINGS, source);
  const known = [...variableNames(BRIDGE_SETTINGS), ...variableNames(SETTINGS)];
  problems.push(...misspeltNames(source.fileNames ?? [], known));
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

function clamdAddress(text: string): ClamdAddress {
  if (text.startsWith('/') && Buffer.byteLength(text) <= MAX_SOCKET_PATH) return { path: text };
  const [, bracketed, name, port = ''] = /^(?:\[([^\]]*)\]|([^:/]*)):(\d+)$/.exec(text) ?? [];
  try {
    return { host: host(bracketed ?? name ?? ''), port: integer(1, 65_535)(port, '') };
  } catch {
    throw new Error(`must be the path of a Unix socket (at most ${MAX_SOCKET_PATH} bytes) or host:port, for example ` +
      '/run/clamav/clamd.ctl or 127.0.0.1:3310');
  }
}
