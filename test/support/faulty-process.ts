import { setInterval } from 'node:timers';
import { startProcess } from '../../src/app/processes/start-process.ts';

/** A worker process in which, once it runs, an exception and a rejection are caught by nobody. */
const { keepRunning } = startProcess('worker', process);
const alive = setInterval(() => {}, 1_000);
keepRunning(async () => clearInterval(alive));
setImmediate(() => {
  throw new Error('an exception that nobody caught');
});
void Promise.reject(new Error('a rejection that nobody caught'));
