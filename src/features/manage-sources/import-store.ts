import type { FeedPassword } from '../feeds/feed-passwords.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';
import type { Visibility } from '../sources/source-store.ts';

/**
 * Outcomes of a feed in an OPML import. `had`: the account already had the feed. `followed`: the account now follows a
 * source of the hub. `left-out`: the account has the maximum number of sources of its own, or of followed ones.
 * `refused`: the feed's address cannot be used.
 */
export const OUTCOMES = ['added', 'had', 'followed', 'left-out', 'refused'] as const;
export type ImportOutcome = (typeof OUTCOMES)[number];

export type Settled = { outcome: ImportOutcome; reason?: string; sourceId?: number };
/** `password` is never stored with a line: a line that has one is settled in the transaction that adds it. */
export type NewLine = { url: string; title: string; folder: string | null; password?: FeedPassword } & Partial<Settled>;
export type ImportLine = Omit<NewLine, keyof Settled | 'password'> & {
  line: number; outcome: ImportOutcome | null; reason: string | null; sourceId: number | null;
};
type InsertLine = Omit<ImportLine, 'sourceId'> & { id: number };
export type Import = { id: number; accountId: number; visibility: Visibility; madeAt: number; doneAt: number | null };

export const IMPORTS_KEPT = TABLES.imports.most;

export const imports = store(({ db, clock }) => {
  const columns = 'id, account_id AS accountId, visibility, made_at AS madeAt, done_at AS doneAt';
  const insert = db.prepare<[number, Visibility, number], { id: number }>('begin import',
    'INSERT INTO imports (account_id, visibility, made_at) VALUES (?, ?, ?) RETURNING id');
  const removeOlder = db.prepare<[{ accountId: number; kept: number; running: string }]>('remove older imports', `
    DELETE FROM imports WHERE account_id = @accountId AND id NOT IN (SELECT value FROM json_each(@running))
       AND id NOT IN (SELECT id FROM imports WHERE account_id = @accountId ORDER BY id DESC LIMIT @kept)`);
  const insertLine = db.prepare<[InsertLine]>('line of import', `
    INSERT INTO import_lines (import_id, line, url, title, folder, outcome, reason)
    VALUES (@id, @line, @url, @title, @folder, @outcome, @reason)`);
  const lineColumns = 'line, url, title, folder, outcome, reason, source_id AS sourceId';
  const settle = db.prepare<[ImportOutcome, string | null, number | null, number, number]>('note outcome of a line', `
    UPDATE import_lines SET outcome = ?, reason = ?, source_id = ? WHERE import_id = ? AND line = ?`);
  const selectAdded = db.prepare<[number], { sourceId: number }>('sources of import', `
    SELECT source_id AS sourceId FROM import_lines WHERE import_id = ? AND outcome = 'added'`);
  const countOutcomes = db.prepare<[number], { outcome: ImportOutcome | null; n: number }>('outcomes of import',
    'SELECT outcome, COUNT(*) AS n FROM import_lines WHERE import_id = ? GROUP BY outcome');
  const finish = db.prepare<[number, number]>('finish import', 'UPDATE imports SET done_at = ? WHERE id = ?');
  const removeOf = db.prepare<[number, number]>('remove the imports of an account', `
    DELETE FROM import_lines WHERE (import_id, line) IN (SELECT import_id, line FROM import_lines
     WHERE import_id IN (SELECT id FROM imports WHERE account_id = ?) LIMIT ?)`);
  const removeEmpty = db.prepare<[number]>('remove the empty imports of an account', `
    DELETE FROM imports WHERE account_id = ?
       AND NOT EXISTS (SELECT 1 FROM import_lines WHERE import_id = imports.id)`);

  return {
    find: db.prepare<[id: number], Import>('import', `SELECT ${columns} FROM imports WHERE id = ?`).get,
    listOf: db.prepare<[accountId: number, after: number, limit: number], Import>('imports of account',
      `SELECT ${columns} FROM imports WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`).all,

    begin(accountId: number, visibility: Visibility, running: number[]): number {
      const id = insert.get(accountId, visibility, clock())?.id ?? 0;
      removeOlder.run({ accountId, kept: IMPORTS_KEPT, running: JSON.stringify(running) });
      return id;
    },

    addLine: (id: number, line: number, { url, title, folder, outcome, reason }: NewLine): void =>
      void insertLine.run({ id, line, url, title, folder, outcome: outcome ?? null, reason: reason ?? null }),
    waiting: db.prepare<[id: number, limit: number], ImportLine>('lines to import', `
      SELECT ${lineColumns} FROM import_lines WHERE import_id = ? AND outcome IS NULL ORDER BY line LIMIT ?`).all,
    lines: db.prepare<[id: number, after: number, limit: number], ImportLine>('lines of import', `
      SELECT ${lineColumns} FROM import_lines WHERE import_id = ? AND line > ? ORDER BY line LIMIT ?`).all,
    settle: (id: number, line: number, { outcome, reason, sourceId }: Settled): void =>
      void settle.run(outcome, reason ?? null, sourceId ?? null, id, line),
    outcomes: (id: number): Map<ImportOutcome | null, number> =>
      new Map(countOutcomes.all(id).map(({ outcome, n }) => [outcome, n])),
    added: (id: number): number[] => selectAdded.all(id).map(({ sourceId }) => sourceId),
    finish: (id: number): void => void finish.run(clock(), id),

    removeOf(accountId: number, limit: number): number {
      const removed = removeOf.run(accountId, limit).changes;
      removeEmpty.run(accountId);
      return removed;
    },
  };
});
