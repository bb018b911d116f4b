import type { Config } from '../features/hub/read-config.ts';
import { SETTINGS, type Setting } from '../features/hub/settings.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import { UsageError, type Command } from './command.ts';

/** Prints settings for the scripts, so that .env is parsed in one place and never sourced. */
export const configCommand: Command = {
  options: {},

  run(names, _values, { config, out, err }) {
    for (const problem of config.doubtfulNames) err(`hubctl: ${problem}\n`);
    if (names.length === 0) throw new UsageError('name at least one variable');
    const values = names.map((name) => shown(name, config));
    const torn = names.find((_, index) => values[index]?.includes('\n'));
    if (torn !== undefined) {
      err(`${torn} contains a line break: scripts cannot use it\n`);
      return 1;
    }
    out(values.map((value) => `${value}\n`).join(''));
    return 0;
  },
};

/** The value of a setting as text. Secrets and lists are refused; no script needs them. */
function shown(name: string, config: Config): string {
  const [key, setting] = Object.entries<Setting<unknown>>(SETTINGS).find(([, listed]) => listed.name === name) ?? [];
  const value = key === undefined || setting?.secret ? undefined : config[key as keyof typeof SETTINGS];
  if (value === null) return '';
  if (typeof value === 'string') return writtenPath(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  throw new UsageError(`${name} is not a setting that can be printed`);
}
