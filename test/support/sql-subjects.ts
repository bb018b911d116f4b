/** SQL in a test. */
export const SQL =
  /\b(?:SELECT\b[^]{0,300}\bFROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TRIGGER|(?:ALTER|DROP) TABLE)\b/;

/** The tests whose subject is SQL or the schema. */
const SUBJECTS: [test: RegExp, subject: string][] = [
  [/^platform\/db\//, 'the database, migrations, and how writes share it'],
  [/^platform\/log\./, 'slow statements, which the log names'],
  [/^platform\/metrics\/kept-counts\./, 'triggers that count rows, whatever statement changes them'],
  [/^app\/tables\./, 'the list of all tables, compared with the schema'],
  [/^features\/health\/metric-list\./, 'counts that the SQL of migrations keeps'],
  [/^features\/backups\/(backup-make|damaged-database|verify-backup)\./, 'databases that are damaged on purpose'],
  [/^features\/backups\/restore-steps\./, 'migrations that a restore applies'],
  [/^features\/backups\/ids\./, 'how tables number their rows'],
  [/^app\/processes\/permission-flags\./, 'whether a confined process may use SQLite'],
  [/^house\/(architecture|long-lists|open-stores)\./, 'the SQL of the sources'],
];

export function isAboutSql(test: string): boolean {
  return SUBJECTS.some(([pattern]) => pattern.test(test));
}
