// Applies the migrations of a folder to a file, both named in its arguments, as a starting process does.
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';

const [path = '', folder = ''] = process.argv.slice(2);
migrate(openDatabase(path), readMigrations(folder), Date.now);
