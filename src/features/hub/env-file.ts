import { createHash } from 'node:crypto';
import { SETTINGS, type Setting, type SettingList } from './settings.ts';

/** For each setting: a hash of its value in .env, so that values can be compared without being revealed. */
export type FileSettings = Readonly<Record<string, string>>;

/** Leaves out settings of scripts, and settings that the environment sets, because the environment overrides .env. */
export function hashFileSettings(
  entries: Record<string, string>, env: Record<string, string | undefined>,
): FileSettings {
  const used = Object.values<Setting<unknown>>(SETTINGS).filter(({ usedBy }) => usedBy !== 'scripts');
  const isGiven = ({ name, secret }: Setting<unknown>): boolean =>
    env[name] !== undefined || (secret !== undefined && env[`${name}_FILE`] !== undefined);
  return Object.fromEntries(used.filter((setting) => !isGiven(setting))
    .map((setting) => [setting.name, settingHash(setting, entries)]));
}

/** The hash of a missing setting is that of its default; of a secret from a file, the file's path is hashed. */
function settingHash({ name, secret, default: standard }: Setting<unknown>, entries: Record<string, string>): string {
  const said = [entries[name] ?? standard, secret === undefined ? null : entries[`${name}_FILE`] ?? null];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}

const ASSIGNMENT = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/;
const AFTER_QUOTES = /^\s*(?:#.*)?$/;

/**
 * Parses lines of the form `KEY=value`; values are never run or expanded. A value may be quoted (\" and \\ are escapes
 * inside double quotes), ` #` begins a comment, and a later line overrides an earlier one. The problems name malformed
 * lines by their numbers and never quote them.
 */
export function parseEnvFile(text: string): { entries: Record<string, string>; problems: string[] } {
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

  return { entries: Object.fromEntries(entries), problems };
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

/** Names of environment variables with fewer than LONG characters are likely to belong to other programs. */
const LONG = 10;
const SLIPS = 2;

/** The environment variables of these settings, with those that end in `_FILE`. */
export function variableNames(list: SettingList): string[] {
  return Object.values(list).flatMap(({ name, secret }) =>
    secret === 'bytes' ? [`${name}_FILE`] : secret === 'text' ? [name, `${name}_FILE`] : [name]);
}

/** A misspelt name in .env is an error, because the setting's default would apply instead and could delete data. */
export function misspeltNames(names: readonly string[], known: readonly string[]): string[] {
  return names.flatMap((name) => {
    const near = nearestName(name, known, Math.max(1, Math.floor(name.length / 4)));
    return near === undefined ? [] : [`${name} in .env is not a setting; did you mean ${near}?`];
  });
}

/** Warnings for names in the environment that resemble a setting: such a name may be another program's. */
export function doubtfulNames(names: readonly string[], known: readonly string[]): string[] {
  return names.filter((name) => name.length >= LONG || name.startsWith('HUB_')).flatMap((name) => {
    const near = nearestName(name, known, SLIPS);
    return near === undefined ? [] : [`${name} in the environment is not a setting; did you mean ${near}?`];
  });
}

function nearestName(name: string, known: readonly string[], slips: number): string | undefined {
  if (known.includes(name)) return undefined;
  const asFile = known.find((one) => one === `${name}_FILE` || `${one}_FILE` === name);
  if (asFile !== undefined) return asFile;
  const written = name.toUpperCase();
  const near = known.filter((one) => Math.abs(one.length - name.length) <= slips && sharesLetters(written, one, slips))
    .map((one) => ({ one, distance: distance(written, one) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near && near.distance <= slips ? near.one : undefined;
}

/** Whether `b` may be `a` with so many slips: one adds and removes at most one letter. Spares most of the distances. */
function sharesLetters(a: string, b: string, slips: number): boolean {
  const different = (lettersOf(a) ^ lettersOf(b)) >>> 0; // the sign bit counts, too: it is the underscore's
  return different.toString(2).replaceAll('0', '').length <= 2 * slips;
}

/** A bit for each letter or underscore in the name; a digit shares its bit with a letter. */
function lettersOf(name: string): number {
  let letters = 0;
  for (let at = 0; at < name.length; at++) letters |= 1 << (name.charCodeAt(at) % 32);
  return letters;
}

/** The edit distance of two names, with transpositions (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const other = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + other,
        isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
