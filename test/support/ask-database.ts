// Runs one statement on the database named in its arguments, and prints the rows as JSON: for another mount space.
import { openDatabase } from '../../src/platform/db/open-database.ts';

const [path = '', sql = ''] = process.argv.slice(2);
const db = openDatabase(path);
const statement = db.prepare('asked by a test', sql);
process.stdout.write(JSON.stringify(/^(SELECT|PRAGMA)/.test(sql) ? statement.all() : statement.run()));
db.close();
