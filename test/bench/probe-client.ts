import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { p99 } from './bench-row.ts';

/**
 * node probe-client.ts <port> <source> <secret> <milliseconds> <cookie>: asks for the home page and sends a signed
 * event, one of each every 25 ms whether or not the last was answered, and for the list of the cookie's member every
 * 100 ms. Prints the 99th percentiles of the time they took, in ms. Runs as a process of its own.
 */
const [port = '', source = '', secret = '', milliseconds = '1000', cookie = ''] = process.argv.slice(2);
const EVERY_MS = 25;
const GRACE_MS = 60_000;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
const times = { page: [] as number[], event: [] as number[], list: [] as number[] };

const under: Promise<void>[] = [];
const end = performance.now() + Number(milliseconds);
for (let n = 0; performance.now() < end; n++) {
  under.push(timed(times.page, 'GET', '/', {}, undefined, 200), sendEvent(n));
  if (n % 4 === 0) under.push(timed(times.list, 'GET', '/', { cookie }, undefined, 200));
  await sleep(EVERY_MS);
}
await Promise.race([Promise.all(under), sleep(GRACE_MS, undefined, { ref: false })]);
// What was never answered counts as endless, for which JSON has no number.
const figures = Object.entries(times).map(([name, all]) => [name, Math.min(1e9, p99(all))]);
process.stdout.write(JSON.stringify(Object.fromEntries(figures)));
process.exit();

function sendEvent(n: number): Promise<void> {
  const body = JSON.stringify({ type: 'build.finished', timestamp: new Date().toISOString(), data: { n } });
  const id = `probe-${process.pid}-${n}`;
  const now = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', key).update(`${id}.${now}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': now, 'webhook-signature': `v1,${signature}`,
  };
  return timed(times.event, 'POST', `/api/webhooks/${source}`, headers, body, 202);
}

function timed(
  into: number[], method: string, path: string, headers: Record<string, string | number>, body: string | undefined,
  wanted: number,
): Promise<void> {
  const started = performance.now();
  return new Promise((resolve) => {
    const done = (isGood: boolean): void => {
      into.push(isGood ? performance.now() - started : Infinity);
      resolve();
    };
    const req = request({ agent, host: '127.0.0.1', port, method, path, headers }, (res) => {
      res.resume().once('end', () => done(res.statusCode === wanted));
    });
    req.once('error', () => done(false)).end(body);
  });
}
