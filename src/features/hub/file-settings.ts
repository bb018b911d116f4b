import { createHash } from 'node:crypto';
import { SETTINGS, type Setting } from './settings.ts';

/** What .env says of settings, by their names: as hashes, which can be compared and tell no secret. */
export type FileSettings = Readonly<Record<string, string>>;

/**
 * Hashes the .env value of each setting that web and worker use. Leaves out those set in the environment, which
 * overrides .env.
 */
export function hashFileSettings(
  entries: Record<string, string>, env: Record<string, string | undefined>,
): FileSettings {
  const used = Object.values<Setting<unknown>>(SETTINGS).filter(({ usedBy }) => usedBy !== 'scripts');
  const isGiven = ({ name, secret }: Setting<unknown>): boolean =>
    env[name] !== undefined || (secret !== undefined && env[`${name}_FILE`] !== undefined);
  return Object.fromEntries(used.filter((setting) => !isGiven(setting))
    .map((setting) => [setting.name, hashOf(setting, entries)]));
}

/** A setting that is missing is the same as its default. Of a file that holds a secret, its path counts. */
function hashOf({ name, secret, default: standard }: Setting<unknown>, entries: Record<string, string>): string {
  const said = [entries[name] ?? standard, secret === undefined ? null : entries[`${name}_FILE`] ?? null];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}
