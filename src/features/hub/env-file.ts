import { createHash } from 'node:crypto';
import { SETTINGS, type Setting } from './settings.ts';

/** Hashes of the settings' values in .env, by name: comparable, without revealing secrets. */
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
    .map((setting) => [setting.name, settingHash(setting, entries)]));
}

/** A missing setting hashes as its default. For a secret's file, the path is hashed. */
function settingHash({ name, secret, default: standard }: Setting<unknown>, entries: Record<string, string>): string {
  const said = [entries[name] ?? standard, secret === undefined ? null : entries[`${name}_FILE`] ?? null];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}

/** The mistakes in an .env file: line numbers and kinds, never the content of a line. */
export class EnvFileError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(problems.join('\n'));
    this.name = 'EnvFileError';
    this.problems = problems;
  }
}

const ASSIGNMENT = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/;
const AFTER_QUOTES = /^\s*(?:#.*)?$/;

/**
 * Reads `KEY=value` lines as data: nothing in them is ever run or expanded. A value may be quoted (\" and \\ are
 * escapes inside double quotes), ` #` begins a comment, a later line overrides an earlier one.
 * Throws EnvFileError with every malformed line.
 */
export function parseEnvFile(text: string): Record<string, string> {
  const entries = new Map<string, string>();
  const problems: string[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);

  for (const [index, line] of lines.entries()) {
    try {
      const entry = parseLine(line.trim());
      if (entry) entries.set(...entry);
    } catch (error) {
      problems.push(`line ${index + 1} ${error instanceof Error ? error.message : 'is malformed'}`);
    }
  }

  if (problems.length > 0) throw new EnvFileError(problems);
  return Object.fromEntries(entries);
}

function parseLine(line: string): [string, string] | undefined {
  if (line === '' || line.startsWith('#')) return undefined;
  const [, name, value] = ASSIGNMENT.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error('is not of the form KEY=value');
  return [name, parseValue(value)];
}

function parseValue(text: string): string {
  const trimmed = text.trimStart();
  if (trimmed.startsWith("'")) return quoted(trimmed, /^'([^']*)'/);
  if (trimmed.startsWith('"')) return quoted(trimmed, /^"((?:[^"\\]|\\.)*)"/).replace(/\\(["\\])/g, '$1');
  return text.replace(/\s#.*$/, '').trim();
}

function quoted(text: string, form: RegExp): string {
  const match = form.exec(text);
  if (!match) throw new Error('has an unclosed quotation mark');
  const rest = text.slice(match[0].length);
  if (!AFTER_QUOTES.test(rest)) throw new Error('has text after the closing quotation mark');
  return match[1] ?? '';
}
