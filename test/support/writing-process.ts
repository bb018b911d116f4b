// Writes to the file named in its arguments all the time in short transactions, as the web process does. On SIGTERM
// prints as JSON how often, and what went wrong.
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { createRateLimitStore } from '../../src/platform/db/rate-limit-store.ts';

const db = openDatabase(process.argv[2] ?? '');
const limits = createRateLimitStore(db, Date.now);
const request = db.transaction('request', (n: number) => {
  limits.take({ name: 'a', burst: 1_000_000, everyMs: 1 }, `${n % 50}`);
  limits.take({ name: 'b', burst: 1_000_000, everyMs: 1 }, `${n % 70}`);
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
