import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { settingsSource } from '../features/hub/read-config.ts';
import { SETTINGS, type Setting } from '../features/hub/settings.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';

/** Settings that name a file which a restored hub needs, though its content is no setting. */
const NAMED_FILES: (keyof typeof SETTINGS)[] = ['backupResticPasswordFile', 'backupAgeRecipient'];

/**
 * Tells scripts/recovery-kit.sh what there is to keep, a line each: `file`, a tab, the file's path; or `environment`, a
 * tab, a setting that stands only in the environment of this program, with its value where it is no secret.
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

/** .env and every file that a setting names, each once. */
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
