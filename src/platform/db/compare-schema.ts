import { migrate, type Migration } from './migrate.ts';
import { splitStatements } from './migration-safety.ts';
import { openInMemory, type Db } from './open-database.ts';

/** A table, index, trigger or view. `table`: the one that an index or a trigger belongs to. */
type SchemaObject = { type: string; name: string; table: string; sql: string };

/**
 * Compares a database with the schema that these migrations make: what is missing or declared differently, in words for
 * the operator, without the indices and triggers of a missing table. Objects that no migration made are allowed.
 */
export function schemaGaps(db: Db, migrations: Migration[]): string[] {
  const found = new Map(schemaObjects(db).map((object) => [keyOf(object), object]));
  const expected = expectedObjects(migrations);
  const missing = expected.filter((object) => !found.has(keyOf(object)));
  const missingTables = missing.filter(({ type }) => type === 'table').map(({ name }) => name);
  const others = missing.filter(({ type, table }) => type !== 'table' && !missingTables.includes(table));
  const changed = expected.filter((object) => (found.get(keyOf(object))?.sql ?? object.sql) !== object.sql);
  return [
    ...missingTables,
    ...others.map(({ type, name }) => `the ${type} ${name}`),
    ...changed.map(({ type, name }) => `the right ${type} ${name}`),
  ];
}

function expectedObjects(migrations: Migration[]): SchemaObject[] {
  const db = openInMemory();
  try {
    migrate(db, migrations, () => 0, true);
    return schemaObjects(db);
  } finally {
    db.close();
  }
}

/**
 * Without what SQLite makes on its own account (sqlite_…). Of the shadow tables of a full-text index only the names
 * count: their declarations depend on the version of SQLite.
 */
function schemaObjects(db: Db): SchemaObject[] {
  return db.prepare<[], SchemaObject>('objects of the schema', `
    SELECT s.type, s.name, s.tbl_name AS "table", CASE l.type WHEN 'shadow' THEN '' ELSE s.sql END AS sql
      FROM sqlite_schema s LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name
     WHERE s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND s.name <> 'schema_migrations' ORDER BY s.rowid`).all()
    .map((object) => ({ ...object, sql: normalized(object.sql) }));
}

/** Without comments, line breaks, and the quotes that SQLite puts around the name of a table that was renamed. */
function normalized(sql: string): string {
  return splitStatements(sql).join().replace(/"(\w+)"/g, '$1');
}

function keyOf({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}
