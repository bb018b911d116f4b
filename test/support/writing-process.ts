// Writes to the file named in its arguments all the time in short transactions, as the web process does. On SIGTERM
// prints as JSON how often, and what went wrong.
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { createCounters } from '../../src/platform/metrics/counters.ts';

const db = openDatabase(process.argv[2] ?? '');
const counters = createCounters(db);
const request = db.transaction('request', (n: number) => {
  counters.add('a', `${n % 50}`, 1);
  counters.add('b', `${n % 70}`, 1);
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
