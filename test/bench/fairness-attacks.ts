import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

/**
 * node fairness-attacks.ts <attack> <port> <cookie> <source> <milliseconds>: what one member or visitor does to a hub
 * for so long, as hard as it can. Prints `ready` when it begins. Runs as a process of its own.
 */
const [name = '', port = '', cookie = '', source = '', milliseconds = '0'] = process.argv.slice(2);
const MEBIBYTE = 1024 * 1024;
const BODY = Buffer.alloc(MEBIBYTE - 1, 0x20);
const end = performance.now() + Number(milliseconds);

type Attack = () => Promise<void>;

export const ATTACKS: Record<string, Attack> = {
  'OPML with an address of 80,000 dots': () => repeat(1, () => importOpml([`http://${'.'.repeat(80_000)}/`])),
  'a feed of 10 MB of 0x92 in windows-1252': () => addFeeds(4, origin(windows1252)),
  'a feed of 2,000 items with 60 images each': () => addFeeds(2, origin(manyImages)),
  '30 posts of 400,000 characters at once': () => repeat(30, writeLongPost),
  '20 readers of long posts by the API': () => repeat(20, () => get('/api/posts?limit=100')),
  '20 searches': () => repeat(20, () => get('/api/posts?q=common')),
  'OPML of 3,000 dead hosts': () => repeat(1, () => importOpml(deadHosts())),
  '60 uploads left open': () => hold(60, openUpload),
  '1,500 connections with 1 MiB each': () => hold(1_500, openWebhook),
  '100 wrong passwords': () => repeat(10, () => post('/api/session', { username: 'ada', password: 'wrong password' })),
  'eight feeds of 10 MiB at once': () => addFeeds(8, origin(largeFeed)),
};

process.stdout.write('ready\n');
await ATTACKS[name]?.();
process.exit();

/** So many at once, one after the other each, until the time is over. */
async function repeat(atOnce: number, act: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (performance.now() < end) await act().catch(() => sleep(50));
  }));
}

/** Opens so many within about two seconds: more at once overflow the loopback device, and nothing measures the hub. */
async function hold(count: number, open: () => { destroy(): void }): Promise<void> {
  const sockets: { destroy(): void }[] = [];
  while (sockets.length < count) {
    sockets.push(open());
    if (sockets.length % 15 === 0) await sleep(20);
  }
  await sleep(Math.max(0, end - performance.now()));
  sockets.forEach((socket) => socket.destroy());
}

async function addFeeds(atOnce: number, started: Promise<string>): Promise<void> {
  const base = await started;
  let n = 0;
  await repeat(atOnce, () => post('/api/sources', { kind: 'feed', url: `${base}/${process.pid}-${n++}` }));
}

function importOpml(urls: string[]): Promise<unknown> {
  const outlines = urls.map((url) => `<outline type="rss" text="a" xmlUrl="${url}"/>`).join('');
  const body = `<opml version="2.0"><head/><body>${outlines}</body></opml>`;
  return send('POST', '/api/sources/import', { 'content-type': 'text/x-opml' }, body);
}

/** Addresses of this machine where nobody listens, or whose answer never comes. */
function deadHosts(): string[] {
  return Array.from({ length: 3_000 }, (_, n) => `http://127.9.${n >> 8}.${n & 255}:9/feed`);
}

function writeLongPost(): Promise<unknown> {
  const content = '<p>some <b>bold</b> text</p>'.repeat(400_000 / 28);
  return post('/api/posts', { sourceId: Number(source), title: 'Long', content, contentType: 'text/html' });
}

function openUpload() {
  const boundary = 'xxxxxxxxxxxxxxxx';
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': 20 * MEBIBYTE };
  const req = request({ port, path: '/api/posts', method: 'POST', headers: { ...browser(), ...headers } });
  req.on('error', () => {});
  req.write(`--${boundary}\r\nContent-Disposition: form-data; name="attachments"; filename="a.txt"\r\n\r\n`);
  req.write('a'.repeat(MEBIBYTE));
  return req;
}

function openWebhook() {
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  socket.write(`POST /api/webhooks/999999 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${MEBIBYTE + 1}\r\n\r\n`);
  socket.write(BODY);
  return socket;
}

function get(path: string): Promise<unknown> {
  return send('GET', path, {}, undefined, false);
}

function post(path: string, value: object): Promise<unknown> {
  return send('POST', path, { 'content-type': 'application/json' }, JSON.stringify(value));
}

async function send(
  method: string, path: string, headers: Record<string, string>, body?: string, asMember = true,
): Promise<unknown> {
  const own = asMember ? browser() : {};
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { ...own, ...headers }, body: body ?? null });
  return answer.arrayBuffer();
}

function browser(): Record<string, string> {
  return { cookie, 'sec-fetch-site': 'same-origin' };
}

async function origin(answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function windows1252(_req: IncomingMessage, res: ServerResponse): void {
  const head = Buffer.from('<?xml version="1.0" encoding="windows-1252"?><rss version="2.0"><channel><title>');
  const bytes = Buffer.concat([head, Buffer.alloc(9 * MEBIBYTE, 0x92), Buffer.from('</title></channel></rss>')]);
  res.writeHead(200, { 'content-type': 'application/rss+xml; charset=windows-1252', 'content-encoding': 'gzip' });
  res.end(gzipSync(bytes));
}

function manyImages(_req: IncomingMessage, res: ServerResponse): void {
  const images = '&lt;img src="https://example.org/1.png" alt="x"&gt;'.repeat(60);
  sendFeed(res, 2_000, images);
}

function largeFeed(_req: IncomingMessage, res: ServerResponse): void {
  sendFeed(res, 2_400, '&lt;p&gt;some text of a feed&lt;/p&gt; '.repeat(100));
}

function sendFeed(res: ServerResponse, items: number, content: string): void {
  const nonce = `${Date.now()}-${Math.random()}`;
  res.writeHead(200, { 'content-type': 'application/rss+xml' });
  res.write('<?xml version="1.0"?><rss version="2.0"><channel><title>A feed</title>');
  for (let n = 0; n < items; n++) {
    res.write(`<item><guid>${nonce}-${n}</guid><title>Item ${n}</title><description>${content}</description></item>`);
  }
  res.end('</channel></rss>');
}
