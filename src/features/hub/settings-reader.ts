import { isAbsolute, resolve } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';

/** Every mistake in the configuration at once, each by variable name with what would be valid. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(['the configuration cannot be used:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Turns a variable's text into its value; throws an Error that begins with "must" and never repeats the text. */
export type Parse<T> = (text: string) => T;

export type SettingsSource = {
  env: Record<string, string | undefined>;
  projectRoot: string;
  /** Each byte becomes a character with 'latin1'; UTF-8 otherwise. */
  readFile: (path: string, encoding?: 'latin1') => string;
};

/** Reads variables one by one and remembers what is wrong, for `finish` to throw as one ConfigError. */
export function createSettingsReader({ env, projectRoot, readFile }: SettingsSource) {
  const problems: string[] = [];
  const secretFiles: string[] = [];

  function parsed<T>(name: string, text: string, parse: Parse<T>): T | undefined {
    try {
      return parse(text);
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : 'cannot be used'}`);
      return undefined;
    }
  }

  function secretFile<T>(name: string, file: string, parse: Parse<T>): T | null {
    const path = isAbsolute(file) ? file : resolve(projectRoot, file);
    const text = parsed(name, file, () => readableFile(() => readFile(path).replace(/\r?\n$/, '')));
    if (text === undefined) return null;
    secretFiles.push(path);
    return parsed(name, text, parse) ?? null;
  }

  /** The variable's value; where it is not set, the fallback's, which is text of the same form. */
  function value<T>(name: string, parse: Parse<T>, fallback: string): T {
    return parsed(name, env[name] ?? fallback, parse) ?? parse(fallback);
  }

  /** The variable's value, or null where it is not set. */
  function optional<T>(name: string, parse: Parse<T>): T | null {
    const text = env[name];
    return text === undefined ? null : (parsed(name, text, parse) ?? null);
  }

  /** A secret out of the variable or out of the file that NAME_FILE names, or null where neither is set. */
  function secret<T>(name: string, parse: Parse<T>): T | null {
    const file = env[`${name}_FILE`];
    if (file === undefined) return optional(name, parse);
    if (env[name] === undefined) return secretFile(`${name}_FILE`, file, parse);
    problems.push(`${name} and ${name}_FILE are both set; give one of them`);
    return null;
  }

  /** What is made of the bytes of the file that the variable names; null where it is not set. */
  function secretBytes<T>(name: string, parse: (bytes: Buffer) => T): T | null {
    const file = env[name];
    if (file === undefined) return null;
    const path = isAbsolute(file) ? file : resolve(projectRoot, file);
    const text = parsed(name, file, () => readableFile(() => readFile(path, 'latin1')));
    if (text === undefined) return null;
    secretFiles.push(path);
    return parsed(name, text, () => parse(Buffer.from(text, 'latin1'))) ?? null;
  }

  /** A mistake that only shows when several variables are seen together. */
  function problem(text: string): void {
    problems.push(text);
  }

  /** Throws the ConfigError when anything was wrong; otherwise the paths of the secret files that were read. */
  function finish(): string[] {
    if (problems.length > 0) throw new ConfigError(problems);
    return secretFiles;
  }

  return { value, optional, secret, secretBytes, problem, finish };
}

function readableFile(read: () => string): string {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    throw new Error(`must name a file that can be read${code === undefined ? '' : ` (${code})`}`);
  }
}
