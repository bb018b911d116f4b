import { randomBytes } from 'node:crypto';
import { request } from 'node:http';

/**
 * node upload-client.ts <port> <path> <token> <bytes> <files> <at once>: sends so many PDF files of that size, no two of
 * them the same, as forms, and prints MiB per second. Runs as a process of its own.
 */
const [port = '', path = '/', token = '', bytes = '0', files = '1', atOnce = '1'] = process.argv.slice(2);
const BOUNDARY = '----WebKitFormBoundaryTkr3kCBQlBe1nrhc';
const HEAD = Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="attachments"; filename="a.pdf"\r\n`
  + 'Content-Type: application/pdf\r\n\r\n%PDF-1.4\n');
const TAIL = Buffer.from(`\nstartxref\n9\n%%EOF\n\r\n--${BOUNDARY}--\r\n`);

const content = randomBytes(Number(bytes));
const bodies = Array.from({ length: Number(files) }, () => Buffer.concat([HEAD, randomBytes(16), content, TAIL]));
const started = performance.now();
await Promise.all(Array.from({ length: Number(atOnce) }, async () => {
  for (let body = bodies.pop(); body; body = bodies.pop()) await send(body);
}));
const seconds = (performance.now() - started) / 1000;
process.stdout.write(`${(Number(bytes) * Number(files)) / 2 ** 20 / seconds}\n`);

function send(body: Buffer): Promise<void> {
  const headers = {
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    'content-length': body.length,
    authorization: `Bearer ${token}`,
  };
  return new Promise((resolve, reject) => {
    const req = request({ port: Number(port), path, method: 'POST', headers }, (res) => {
      res.resume();
      res.once('end', () => (res.statusCode === 201 ? resolve() : reject(new Error(`status ${res.statusCode}`))));
    });
    req.once('error', reject);
    req.end(body);
  });
}
