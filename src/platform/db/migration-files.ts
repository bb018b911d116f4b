import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Migration = { version: number; name: string; sql: string; safe: boolean; checksum: string };

/** Thrown if this program must not use a database, or cannot use its migrations; `message` is for the operator. */
export class SchemaError extends Error {}

/** Thrown if another process has to stop first, or a trial to end. */
export class DataInUseError extends SchemaError {}

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const SAFETY = /^-- safe: (yes|no)\r?\n/;

/** Reads the migrations NNNN_name.sql, numbered from 1 without a gap. Refuses "safe: yes" in front of unsafe SQL. */
export function readMigrations(folder: string): Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql')).sort();
  return files.map((file, index) => toMigration(file, index + 1, readFileSync(join(folder, file), 'utf8')));
}

function toMigration(file: string, expected: number, sql: string): Migration {
  const version = Number(FILE_NAME.exec(file)?.[1]);
  if (version !== expected) {
    const next = `${String(expected).padStart(4, '0')}_name_in_lower_case.sql`;
    throw new SchemaError(`migration ${file} is out of sequence: ${next} is next`);
  }
  const marked = SAFETY.exec(sql)?.[1];
  if (!marked) throw new SchemaError(`migration ${file} must begin with the line "-- safe: yes" or "-- safe: no"`);
  const statements = splitStatements(sql);
  const unsafe = marked === 'yes' ? statements.find((statement) => !isSafe(statement))?.slice(0, 80) : undefined;
  if (unsafe) throw new SchemaError(`migration ${file} is marked safe but not purely additive: ${unsafe}`);
  const steering = statements.find((statement) => TRANSACTION.test(statement));
  if (steering) throw new SchemaError(`migration ${file} must not control its transaction: ${steering}`);
  const checksum = createHash('sha256').update(sql).digest('hex');
  return { version, name: file.slice(5, -4), sql, safe: marked === 'yes', checksum };
}

/** The statements that a safe migration may contain: additions that change no existing row or name. */
const ADDING = [
  /^CREATE (TABLE|VIRTUAL TABLE|VIEW|TRIGGER|INDEX|UNIQUE INDEX)\b/,
  /^ALTER TABLE \S+ ADD COLUMN\b/,
  /^INSERT INTO \w(?!.*\bON CONFLICT\b.*\bDO UPDATE\b)/s,
];

/** A command to a full-text table, such as delete-all, is an INSERT into a column with the table's own name. */
const FULL_TEXT_COMMAND = /^INSERT INTO (?:\w+ ?\. ?)?(\w+)(?: AS \w+)? ?\((?:[^)]*,)? ?(?:\1|'') ?[,)]/;

/** `migrate` wraps each migration in a transaction, so a migration must neither begin nor end a transaction. */
const TRANSACTION = /^(BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)\b/i;

/** Pieces of SQL: comments (the last may be unclosed), strings, quoted names, white space, everything else. */
const TOKEN = new RegExp([
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)/,
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^[\]]*\]/,
  /\s+|[^\s;'"`[/-]+|[^]/,
].map(({ source }) => source).join('|'), 'g');

function isSafe(statement: string): boolean {
  const bare = tokens(statement).map(withoutQuotes).join('').toUpperCase();
  return ADDING.some((pattern) => pattern.test(bare)) && !FULL_TEXT_COMMAND.test(bare);
}

/** Empties a token that is a string and unquotes one that is a name, so that no text within it looks like SQL. */
function withoutQuotes(token: string): string {
  if (token.startsWith(`'`)) return `''`;
  return /^["`[]/.test(token) ? token.slice(1, -1).replace(/\W/g, '_') : token;
}

/** Splits SQL into statements without comments. A CREATE TRIGGER with its body is one statement. */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let current = '';
  for (const token of tokens(sql)) {
    if (token === ';' && !isOpenTrigger(current)) {
      statements.push(current.trim());
      current = '';
    } else {
      current += /^(--|\/\*|\s)/.test(token) ? ' ' : token;
    }
  }
  return [...statements, current.trim()].filter(Boolean).map((statement) => statement.replace(/ +/g, ' '));
}

/** A trigger ends with END after its last inner semicolon; CASE … END inside a body never follows a semicolon. */
function isOpenTrigger(statement: string): boolean {
  return /^\s*CREATE\s+TRIGGER\b/i.test(statement) && !/;\s*END\s*$/i.test(statement);
}

function tokens(sql: string): string[] {
  return sql.match(TOKEN) ?? [];
}
