import { migrate, type Migration } from './migrate.ts';
import { splitStatements } from './migration-safety.ts';
import { openInMemory, type Db } from './open-database.ts';

/** A table, index, trigger or view. `table`: the one that an index or a trigger belongs to. */
type SchemaObject = { type: string; name: string; table: string; sql: string };

/**
 * What a database lacks, or has otherwise, of the schema that these migrations make, in words for the operator: tables
 * by name alone, of what belongs to a missing one nothing. What it has besides is its own matter.
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
 * The tables that a full-text index keeps for itself are there by their names only: how they are declared is up to
 * SQLite. What SQLite names itself belongs to a table's own declaration.
 */
function schemaObjects(db: Db): SchemaObject[] {
  return db.prepare<[], SchemaObject>('objects of the schema', `
    SELECT s.type, s.name, s.tbl_name AS "table", CASE l.type WHEN 'shadow' THEN '' ELSE s.sql END AS sql
      FROM sqlite_schema s LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name
     WHERE s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND s.name <> 'schema_migrations' ORDER BY s.rowid`).all()
    .map((object) => ({ ...object, sql: normalized(object.sql) }));
}

/** Without comments and line breaks; nor the quotes that SQLite puts around a table's name when it renames one. */
function normalized(sql: string): string {
  return splitStatements(sql).join().replace(/"(\w+)"/g, '$1');
}

function keyOf({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}
