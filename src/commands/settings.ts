import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { type Config, settingsSource } from '../features/hub/read-config.ts';
import { type Setting, SETTINGS } from '../features/hub/settings.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';

/** Prints settings for the scripts, so that .env is parsed in one place and never sourced. */
export const configCommand: Command = {
  options: {},

  run(names, _values, { config, out, err }) {
    for (const problem of config.doubtfulNames) err(`hubctl: ${problem}\n`);
    if (names.length === 0) throw new UsageError('name at least one variable');
    const values = names.map((name) => settingText(name, config));
    const torn = names.find((_, index) => values[index]?.includes('\n'));
    if (torn !== undefined) {
      err(`${torn} contains a line break: scripts cannot use it\n`);
      return 1;
    }
    out(values.map((value) => `${value}\n`).join(''));
    return 0;
  },
};

function settingText(name: string, config: Config): string {
  const [key, setting] = Object.entries<Setting<unknown>>(SETTINGS).find(([, listed]) => listed.name === name) ?? [];
  const value = key === undefined || setting?.secret ? undefined : config[key as keyof typeof SETTINGS];
  if (value === null) return '';
  if (typeof value === 'string') return writtenPath(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  throw new UsageError(`${name} is not a setting that can be printed`);
}

const NAMED_FILES: (keyof typeof SETTINGS)[] = ['backupResticPasswordFile', 'backupAgeRecipient'];

/**
 * Lists for scripts/recovery-kit.sh what the operator must keep, as lines of two columns: `file` and a path, or
 * `environment` and a setting that only the environment sets, with its value unless the value is secret.
 */
export const recoveryKitCommand: Command = {
  options: {},

  run([step, ...rest], _values, context) {
    if (step !== 'describe' || rest.length > 0) throw new UsageError('run ./scripts/hubctl recovery-kit');
    const found = [...files(context).map((path) => `file\t${path}`), ...onlyInEnvironment(context)];
    context.out(found.map((line) => `${line}\n`).join(''));
    return 0;
  },
};

function files({ env, config }: CommandContext): string[] {
  const { env: settings, projectRoot } = settingsSource(env);
  const own = join(projectRoot, '.env');
  const secrets = Object.values<Setting<unknown>>(SETTINGS).filter(({ secret }) => secret)
    .map(({ name }) => settings[`${name}_FILE`]).filter((path) => path !== undefined);
  const named = NAMED_FILES.map((key) => config[key]).filter((path) => typeof path === 'string' && isAbsolute(path));
  const paths = [...secrets.map((path) => resolve(projectRoot, path)), ...named.map(String)];
  return [...new Set([...existsSync(own) ? [own] : [], ...paths])];
}

function onlyInEnvironment({ env }: CommandContext): string[] {
  const { fileNames = [] } = settingsSource({});
  return Object.values<Setting<unknown>>(SETTINGS).flatMap(({ name, secret }) => {
    const names = secret ? [`${name}_FILE`, name] : [name];
    return names.filter((one) => env[one] !== undefined && !fileNames.includes(one))
      .map((one) => `environment\t${one}${secret && one === name ? '' : `=${env[one]}`}`);
  });
}
