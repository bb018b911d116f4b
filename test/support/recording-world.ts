/**
 * node test/support/recording-world.ts
 * Plays everything outside a machine: a name server that knows every name, and servers at every address. Prints a line
 * of JSON for each name that is asked for, and for each connection.
 */
import dgram from 'node:dgram';
import http from 'node:http';
import net, { type Socket } from 'node:net';
import { png } from './sample-files.ts';

/** What came from the machine; `host` is the name that was asked for, or the name of the address; `headers`: by name. */
export type Seen = { kind: 'name' | 'connection'; host: string; port: number; headers?: string[] };

const hosts: string[] = [];

function note(seen: Seen): void {
  console.log(JSON.stringify(seen));
}

function hostAt({ localAddress = '' }: Socket): string {
  return hosts[Number(localAddress.split('.').at(-1))] ?? localAddress;
}

/** The answer to a question for an address: a public one, of which the last number is the name's place in `hosts`. */
function answerTo(question: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const host = labels.join('.').toLowerCase();
  note({ kind: 'name', host, port: 53 });
  if (!hosts.includes(host)) hosts.push(host);
  const isForAddress = question.readUInt16BE(at + 1) === 1;
  const head = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isForAddress ? 1 : 0, 0, 0, 0, 0]);
  const asked = question.subarray(12, at + 5);
  const found = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 9, 9, 9, hosts.indexOf(host)];
  return Buffer.concat([head, asked, Buffer.from(isForAddress ? found : [])]);
}

const PAGES: Record<string, () => [type: string, body: string | Buffer]> = {
  'feed.example/feed': () => ['application/rss+xml', `<rss version="2.0"><channel><title>Owls</title>
    <link>http://icon.example/</link><item><guid>a</guid><title>An owl</title><link>http://page.example/owl</link>
    <thumbnail xmlns="http://search.yahoo.com/mrss/" url="http://picture.example/small.png"/>
    <enclosure url="http://image.example/owl.png" type="image/png"/></item></channel></rss>`],
  'image.example/owl.png': () => ['image/png', png({ width: 2, height: 2 })],
};

http.createServer(({ socket, headers, url = '' }, response) => {
  note({ kind: 'connection', host: hostAt(socket), port: 80, headers: Object.keys(headers) });
  const page = PAGES[`${headers.host}${url}`]?.();
  response.writeHead(page ? 200 : 404, page ? { 'content-type': page[0] } : {}).end(page?.[1]);
}).listen(80, '0.0.0.0');

/** Other servers read what is sent first, and end. */
for (const port of [443, 3310]) {
  net.createServer((socket) => {
    note({ kind: 'connection', host: hostAt(socket), port });
    socket.on('error', () => {}).once('data', () => socket.end()).resume();
  }).listen(port, '0.0.0.0');
}

const names = dgram.createSocket('udp4');
names.on('message', (question, { address, port }) => names.send(answerTo(question), port, address));
names.bind(53, '10.77.0.1', () => console.log('ready'));
