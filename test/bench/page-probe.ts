import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { p99 } from './bench-row.ts';

/**
 * node page-probe.ts <port> <cookie> <milliseconds>: asks for the home page of the cookie's member every 25 ms, and
 * prints the 99th percentile of the time that took, in ms. Runs as a process of its own, which nothing else delays.
 */
const [port = '', cookie = '', milliseconds = '1000'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const times: number[] = [];
const end = performance.now() + Number(milliseconds);
while (performance.now() < end) {
  const started = performance.now();
  await new Promise<void>((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port, path: '/', headers: { cookie, accept: 'text/html' } };
    const asked = request(options, (res) => {
      res.resume().once('end', () => (res.statusCode === 200 ? resolve() : reject(new Error(String(res.statusCode)))));
    });
    asked.once('error', reject).end();
  });
  times.push(performance.now() - started);
  await sleep(25);
}
process.stdout.write(String(p99(times)));
process.exit();
