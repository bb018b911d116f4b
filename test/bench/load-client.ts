import { connect, type Socket } from 'node:net';

/**
 * node load-client.ts <port> <path> <connections> <milliseconds> [header…]: asks for one path over kept-alive
 * connections as fast as the server answers, and prints answers per second. Reads no more of an answer than its length,
 * so that it stays ahead of any server. Runs as a process of its own.
 */
const [port = '', path = '/', connections = '16', milliseconds = '1000', ...headers] = process.argv.slice(2);
const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...headers, '', ''];
const request = Buffer.from(lines.join('\r\n'));
const wantsGzip = headers.includes('Accept-Encoding: gzip');

let answers = 0;
const sockets = Array.from({ length: Number(connections) }, () => ask(connect(Number(port), '127.0.0.1')));
const started = performance.now();
setTimeout(() => {
  process.stdout.write(`${(answers / (performance.now() - started)) * 1000}\n`);
  for (const socket of sockets) socket.destroy();
}, Number(milliseconds));

function ask(socket: Socket): Socket {
  let missing = 0; // bytes of the answer's body that are still to come
  let head = '';
  socket.setNoDelay(true);
  socket.on('connect', () => socket.write(request));
  socket.on('data', (chunk: Buffer) => {
    if (missing > 0) missing -= chunk.length;
    else {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN);
      const isWanted = !wantsGzip || /content-encoding: gzip/i.test(head);
      const isGood = head.startsWith('HTTP/1.1 200') && !Number.isNaN(length) && isWanted;
      if (!isGood) throw new Error(`unexpected answer: ${head.slice(0, 80)}`);
      missing = length - (head.length - end - 4);
      head = '';
    }
    if (missing > 0) return;
    answers++;
    socket.write(request);
  });
  return socket;
}
