import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import { readConfig, ConfigError, type Config } from './config.ts';
import { EnvFileError, readEnvironment } from './env-file.ts';

/** The folder that holds package.json. */
export const PROJECT_ROOT = resolve(import.meta.dirname, '../../..');

/** The configuration out of the environment and the project's .env. Throws ConfigError with every mistake. */
export function loadConfig(env: Record<string, string | undefined>, projectRoot: string = PROJECT_ROOT): Config {
  const readFile = (path: string, encoding: BufferEncoding = 'utf8'): string => readFileSync(path, encoding);
  return readConfig(mergedEnvironment(env, join(projectRoot, '.env'), readFile), { projectRoot, readFile });
}

/** For entrypoints: as loadConfig, but a mistake ends the process with 2 and every problem on standard error. */
export function loadConfigOrExit(env: Record<string, string | undefined>): Config {
  try {
    return loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** The environment, with what .env adds to it. Throws ConfigError for a file that cannot be read or understood. */
export function mergedEnvironment(
  env: Record<string, string | undefined>,
  envFile: string,
  readFile: (path: string) => string,
): Record<string, string | undefined> {
  try {
    return readEnvironment(env, readFile(envFile));
  } catch (error) {
    if (error instanceof EnvFileError) throw new ConfigError(error.problems.map((problem) => `.env ${problem}`));
    const code = codeOf(error);
    if (code === 'ENOENT') return env;
    throw new ConfigError([`.env cannot be read (${String(code)})`]);
  }
}
