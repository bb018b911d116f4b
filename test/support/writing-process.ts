// Writes to the file named in its arguments all the time in short transactions, as the web process does. On SIGTERM
// prints as JSON how often, and what went wrong.
import { openDatabase } from '../../src/platform/db/open-database.ts';

const db = openDatabase(process.argv[2] ?? '');
const touch = db.prepare<[string, number]>('touch', `
  INSERT INTO rate_limits (key, arrives_at) VALUES (?, ?) ON CONFLICT DO UPDATE SET arrives_at = excluded.arrives_at
`);
const request = db.transaction('request', (n: number) => {
  touch.run(`a:${n % 50}`, n);
  touch.run(`b:${n % 70}`, n);
});
const errors: string[] = [];
let writes = 0;

function write(): void {
  try {
    request(writes++);
  } catch (error) {
    errors.push(String(error));
  }
  timer = setTimeout(write, 1);
}

let timer = setTimeout(write, 0);
process.on('SIGTERM', () => {
  clearTimeout(timer);
  process.stdout.write(JSON.stringify({ writes, errors }), () => process.exit(0));
});
