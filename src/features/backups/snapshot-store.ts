import type { Db } from '../../platform/db/open-database.ts';

export type Counts = {
  accounts: number;
  admins: number;
  sources: number;
  posts: number;
  attachments: number; // native ones
  uploads: number; // files they share
  uploadBytes: number;
};

export type UploadRow = { sha256: string; bytes: number; createdAt: number };

export type SnapshotStore = ReturnType<typeof createSnapshotStore>;

/** Each with the schema version that brought it. */
const TABLES: [name: string, since: number][] = [
  ['counts', 1], ['jobs', 1], ['accounts', 2], ['sources', 3], ['feeds', 3], ['posts', 4], ['attachments', 4],
  ['posts_search', 4], ['uploads', 5],
];

/** What a backup asks of a database, its source or its copy. Statements are made when used: a table may be missing. */
export function createSnapshotStore(db: Db) {
  const all = <Row>(name: string, sql: string): Row[] => db.prepare<[], Row>(name, sql).all();
  const number = (name: string, sql: string): number =>
    db.prepare<[], { n: number | null }>(name, `SELECT (${sql}) AS n`).get()?.n ?? 0;
  const hasTable = (name: string): boolean => db.prepare<[string], object>('find table',
    `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(name) !== undefined;

  return {
    /** Writes a consistent copy to a path where nothing is, while others write; waits for nobody. */
    copyTo: (path: string): void => void db.prepare<[string]>('snapshot', 'VACUUM INTO ?').run(path),

    bytes: (): number => Number(db.pragma('page_count')) * Number(db.pragma('page_size')),
    uploadBytes: (): number => (hasTable('uploads') ? number('bytes of uploads', 'SELECT SUM(bytes) FROM uploads') : 0),

    /** Names of tables that a hub's database of that version has and this one has not. */
    missingTables: (schemaVersion: number): string[] =>
      TABLES.filter(([name, since]) => since <= schemaVersion && !hasTable(name)).map(([name]) => name),

    counts: (): Counts => ({
      accounts: number('count accounts', 'SELECT COUNT(*) FROM accounts'),
      admins: number('count admins', `SELECT COUNT(*) FROM accounts WHERE role = 'admin'`),
      sources: number('count sources', 'SELECT COUNT(*) FROM sources'),
      posts: number('count posts', 'SELECT COUNT(*) FROM posts'),
      attachments: number('count attachments', `SELECT COUNT(*) FROM attachments WHERE kind = 'native'`),
      uploads: hasTable('uploads') ? number('count uploads', 'SELECT COUNT(*) FROM uploads') : 0,
      uploadBytes: hasTable('uploads') ? number('bytes of uploads', 'SELECT SUM(bytes) FROM uploads') : 0,
    }),

    uploads: (): UploadRow[] => hasTable('uploads')
      ? all<UploadRow>('all uploads', 'SELECT sha256, bytes, created_at AS createdAt FROM uploads ORDER BY sha256')
      : [],

    /** "ok", or the first thing that is wrong within the file, full-text tables included. */
    integrity: (): string => String(db.pragma('integrity_check')),

    /** Rows that lack their parent, by table. */
    orphans: () => all<{ table: string; rows: number }>('check foreign keys',
      'SELECT "table", COUNT(*) AS rows FROM pragma_foreign_key_check GROUP BY "table"'),

    /** Posts that search cannot find, and rows of the index that belong to no post. */
    searchDrift: () => ({
      unindexed: number('posts without their row in the index', `
        SELECT COUNT(*) FROM posts WHERE search_key IS NULL
            OR search_key NOT IN (SELECT id FROM posts_search_docsize)`),
      stray: number('rows of the index without their post', `
        SELECT COUNT(*) FROM posts_search_docsize
         WHERE id NOT IN (SELECT search_key FROM posts WHERE search_key IS NOT NULL)`),
    }),

    /** Native attachments whose file no row of uploads knows. */
    dangling: (): number => number('attachments without upload', hasTable('uploads')
      ? `SELECT COUNT(*) FROM attachments WHERE kind = 'native'
            AND (sha256 IS NULL OR sha256 NOT IN (SELECT sha256 FROM uploads))`
      : `SELECT COUNT(*) FROM attachments WHERE kind = 'native'`),
  };
}
