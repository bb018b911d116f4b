/** What is wrong in an env file: line numbers and the kind of mistake, never what a line holds. */
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
 * Reads `KEY=value` lines as data: nothing in them is ever run or expanded. Quotes may surround a value
 * (\" and \\ are escapes between double ones), ` #` begins a comment, a later line wins over an earlier one.
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

/** The process environment together with the file's settings; where both name a variable, the environment wins. */
export function readEnvironment(
  env: Record<string, string | undefined>,
  envFileText: string,
): Record<string, string | undefined> {
  return { ...parseEnvFile(envFileText), ...env };
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
  return text.replace(/\s+#.*$/, '').trim();
}

function quoted(text: string, form: RegExp): string {
  const match = form.exec(text);
  if (!match) throw new Error('has a quotation mark that is never closed');
  const rest = text.slice(match[0].length);
  if (!AFTER_QUOTES.test(rest)) throw new Error('has something after the closing quotation mark');
  return match[1] ?? '';
}
