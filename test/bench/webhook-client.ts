import { createHmac } from 'node:crypto';
import { connect } from 'node:net';

/**
 * node webhook-client.ts <port> <secret> <first source> <sources> <events> <senders> <heard|posts>: sends signed events
 * over kept-alive connections, each sender waiting for its 202 before the next, and prints events per second. Everything
 * is signed before the first is sent, so that the client stays ahead of the server. Runs as a process of its own.
 */
const [port = '', secret = '', first = '1', sources = '1', events = '1', senders = '1', kind = ''] = process.argv.slice(2);
const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
const run = `${process.pid}-${Date.now()}`;
const requests = Array.from({ length: Number(events) }, (_, index) => requestOf(index));

let next = 0;
let answered = 0;
const started = performance.now();
for (let sender = 0; sender < Number(senders); sender++) send();

function send(): void {
  const socket = connect(Number(port), '127.0.0.1');
  socket.setNoDelay(true);
  socket.on('connect', () => socket.write(requests[next++] ?? ''));
  socket.on('data', (chunk: Buffer) => {
    const head = chunk.toString('latin1');
    if (!head.startsWith('HTTP/1.1 202') || !head.endsWith('}')) throw new Error(`unexpected answer: ${head}`);
    if (++answered === requests.length) end();
    const request = requests[next++];
    if (request) socket.write(request);
    else socket.destroy();
  });
}

function end(): void {
  process.stdout.write(`${(answered / (performance.now() - started)) * 1_000}\n`);
}

function requestOf(index: number): Buffer {
  const body = bodyOf(index);
  const id = `msg_${run}-${index}`;
  const now = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', key).update(`${id}.${now}.${body}`).digest('base64');
  const head = [
    `POST /api/webhooks/${Number(first) + (index % Number(sources))} HTTP/1.1`, `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`,
    `webhook-id: ${id}`, `webhook-timestamp: ${now}`, `webhook-signature: v1,${signature}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function bodyOf(index: number): string {
  const timestamp = new Date().toISOString();
  if (kind === 'heard') return JSON.stringify({ type: 'build.finished', timestamp, data: { id: index, ok: true } });
  const data = { id: `${run}-${index}`, title: `Post ${index}`, content_html: '<p>Some <b>common text</b> of a post.</p>' };
  return JSON.stringify({ type: 'post.published', timestamp, data });
}
