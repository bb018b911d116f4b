// Protects the exchange with a virus scanner: only a clear answer about the whole file is a verdict.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NO_PROXY } from '../../../src/app/processes/supervise.ts';
import { scanFile, type FileToScan, type ScanResult } from '../../../src/features/attachments/scan-file.ts';
import { openHandles } from '../../support/open-handles.ts';
import { rawReply, reply, startOrigin, startRawOrigin } from '../../support/origin.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { makeSelfSigned } from '../../support/self-signed.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';
import { openPaths } from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Timer = { run: () => void; ms: number; at: number };

/** Timers that are set from now on run only as the test lets time pass, by so many ms, with the function returned. */
function handClock(t: TestContext): (milliseconds: number) => void {
  const timers = new Set<Timer>();
  let now = 0;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms = 0) => {
    const timer = { run, ms, at: now + ms, refresh: () => void (timer.at = now + ms), unref: () => timer };
    timers.add(timer);
    return timer;
  });
  t.mock.method(globalThis, 'clearTimeout', (timer: Timer) => void timers.delete(timer));
  return (milliseconds) => {
    now += milliseconds;
    for (const timer of [...timers].filter(({ at }) => at <= now)) {
      timers.delete(timer);
      timer.run();
    }
  };
}

const TIMEOUT = 20_000;
const MIB = 1024 * 1024;

function fileWith(t: TestContext, content: string | Buffer, filename = 'notes.txt'): FileToScan {
  const path = join(temporaryFolder(t), 'upload');
  writeFileSync(path, content);
  return { path, bytes: Buffer.byteLength(content), filename };
}

type Limits = { timeoutMs?: number; idleMs?: number };

function scan(url: string, file: FileToScan, limits: Limits = {}): Promise<ScanResult> {
  return scanFile({ url, timeoutMs: TIMEOUT, ...limits }, file);
}

function reasonOf(result: ScanResult): string {
  return result.verdict === 'unavailable' ? result.reason : assert.fail(`the verdict is ${result.verdict}`);
}

/** RFC 8187's form where there is one, else the plain one. */
function filenameSent(headers: IncomingHttpHeaders): string {
  const form = /^attachment; filename="([ !#-~]*)"(?:; filename\*=UTF-8''([\w!#$&+.^`|~%-]+))?$/;
  const [, plain = '', extended] = form.exec(headers['content-disposition'] ?? '') ?? [];
  return extended === undefined ? plain : decodeURIComponent(extended);
}

test('the scanner gets the bytes, their number and the filename in one POST', async (t) => {
  const content = randomBytes(5 * MIB + 7);
  const scanner = await startOrigin(t, reply(200, {}, '{"clean":true}'));
  const result = await scan(`${scanner.url}/scan?for=hub`, fileWith(t, content, 'an owl.pdf'));

  assert.deepEqual(result, { verdict: 'clean' });
  assert.equal(scanner.requests.length, 1);
  const [{ method, path, headers, body }] = scanner.requests as [(typeof scanner.requests)[number]];
  assert.deepEqual({ method, path }, { method: 'POST', path: '/scan?for=hub' });
  assert.equal(headers['content-type'], 'application/octet-stream');
  assert.equal(headers['content-length'], String(content.length));
  assert.equal(filenameSent(headers), 'an owl.pdf');
  assert.equal(createHash('sha256').update(body).digest('hex'), createHash('sha256').update(content).digest('hex'));
});

test('any filename reaches the scanner, and adds no header', async (t) => {
  const scanner = await startOrigin(t, reply(200, {}, '{"clean":true}'));
  const names = ['Müller & Söhne.pdf', '猫🐈.png', `it's (a) "quote"*.txt`, '100%.txt', '\u202etxt.exe'];
  for (const name of names) await scan(scanner.url, fileWith(t, 'x', name));
  assert.deepEqual(scanner.requests.map(({ headers }) => filenameSent(headers)), names);

  const changed = [['a\r\nX-Evil: 1', 'a__X-Evil: 1'], ['\0', '_'], ['half \ud83d a cat', 'half \ufffd a cat']];
  for (const [name, sent] of changed) {
    await scan(scanner.url, fileWith(t, 'x', name));
    const { headers } = scanner.requests.at(-1) ?? assert.fail('nothing was sent');
    assert.equal(filenameSent(headers), sent);
    assert.equal(headers['x-evil'], undefined);
  }
});

test('a user name and a password in the URL are sent as Basic credentials', async (t) => {
  const scanner = await startOrigin(t, reply(200, {}, '{"clean":true}'));
  await scan(scanner.url.replace('//', '//hub:p%40ss@'), fileWith(t, 'x'));

  assert.equal(scanner.requests[0]?.headers.authorization, `Basic ${Buffer.from('hub:p@ss').toString('base64')}`);
});

for (const [title, status, body, expected] of [
  ['clean: true', 200, '{"clean":true}', { verdict: 'clean' }],
  ['clean: true among other members, with another 2xx', 201, ' {"name":"x", "clean" : true}\n', { verdict: 'clean' }],
  ['clean: false', 200, '{"clean":false}', { verdict: 'infected', signature: null }],
  ['clean: false with a name', 200, '{"clean":false,"signature":"Eicar"}', { verdict: 'infected', signature: 'Eicar' }],
  ['a name that is no text', 200, '{"clean":false,"signature":{"a":1}}', { verdict: 'infected', signature: null }],
  ['a name with a line end', 200, '{"clean":false,"signature":"a\\nb"}', { verdict: 'infected', signature: 'a b' }],
] as const) {
  test(`understood: ${title}`, async (t) => {
    const scanner = await startOrigin(t, reply(status, {}, body));
    assert.deepEqual(await scan(scanner.url, fileWith(t, 'x')), expected);
  });
}

for (const [title, status, body, reason] of [
  ['the text "true"', 200, '{"clean":"true"}', /neither clean: true nor clean: false/],
  ['null', 200, '{"clean":null}', /neither/],
  ['no member at all', 200, '{}', /neither/],
  ['an inherited member', 200, '{"__proto__":{"clean":true}}', /neither/],
  ['a list', 200, '[{"clean":true}]', /neither/],
  ['true alone', 200, 'true', /JSON object/],
  ['nothing', 200, '', /JSON object/],
  ['a page', 200, '<html>clean: true</html>', /JSON object/],
  ['JSON that stops half-way', 200, '{"clean":true', /JSON object/],
  ['something after the JSON', 200, '{"clean":true} {"clean":false}', /JSON object/],
  ['400', 400, '{"clean":true}', /answered 400$/],
  ['500', 500, '{"clean":true}', /answered 500$/],
  ['503 with its reason', 503, '{"detail":"clamd\\u0007 is gone"}', /answered 503: clamd  is gone$/],
  ['an answer without end', 200, `{"clean":true,"padding":"${'x'.repeat(100_000)}"}`, /longer than 16384 bytes$/],
] as const) {
  test(`no verdict: ${title}`, async (t) => {
    const scanner = await startOrigin(t, reply(status, {}, body));
    const answer = reasonOf(await scan(scanner.url, fileWith(t, 'x')));
    assert.match(answer, reason);
    assert.ok(answer.includes(new URL(scanner.url).host), answer);
  });
}

test('a redirect is no verdict and is not followed', async (t) => {
  const elsewhere = await startOrigin(t, reply(200, {}, '{"clean":true}'));
  for (const status of [301, 302, 303, 307, 308]) {
    const scanner = await startOrigin(t, reply(status, { location: elsewhere.url }, '{"clean":true}'));
    assert.match(reasonOf(await scan(scanner.url, fileWith(t, 'x'))), new RegExp(`answered ${status}$`));
  }
  assert.equal(elsewhere.requests.length, 0);
});

for (const [title, onSocket] of [
  ['before a byte of the answer', (socket: Socket) => void socket.once('data', () => socket.destroy())],
  ['within the status line', rawReply('HTTP/1.1 200')],

  ['within a chunked body', rawReply('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{"clean":true}\r\n')],
  ['by a reset after a body of unknown length', (socket: Socket) => void socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n{"clean":true', () => setImmediate(() => socket.resetAndDestroy()));
  })],
  ['with another protocol', rawReply('HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{"clean":true}')],
] as const) {
  test(`no verdict: the connection ends ${title}`, async (t) => {
    const { url } = await startRawOrigin(t, onSocket);
    assert.match(reasonOf(await scan(url, fileWith(t, 'x'))), /^(the exchange with )?127\.0\.0\.1:\d+(?:’s)? /);
  });
}

test('no reason holds more of the URL than the host', async (t) => {
  const gone = await startOrigin(t, {});
  await gone.close();
  const failed = { verdict: 'unavailable', reason: `the exchange with 127.0.0.1:${gone.port} failed (ECONNREFUSED)` };
  assert.deepEqual(await scan(gone.url.replace('//', '//user:secret@'), fileWith(t, 'x')), failed);
  const handlers = [reply(500, {}, 'no'), reply(302, { location: '/secret-elsewhere' }), reply(200, {}, 'x')];
  for (const handler of [...handlers, () => {}]) {
    const scanner = await startOrigin(t, handler);
    const url = `${scanner.url.replace('//', '//user:secret@')}/secret?secret#secret`;
    assert.doesNotMatch(reasonOf(await scan(url, fileWith(t, 'x'), { timeoutMs: 200 })), /secret|user/);
  }
});

test('a certificate that nobody vouches for is no verdict', async (t) => {
  const scanner = await startOrigin(t, reply(200, {}, '{"clean":true}'), { tls: makeSelfSigned('127.0.0.1') });
  assert.match(reasonOf(await scan(scanner.url, fileWith(t, 'x'))), /failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/);
  assert.equal(scanner.requests.length, 0);
});

test('a scanner that is silent for the whole time limit is no verdict', async (t) => {
  const scanner = await startOrigin(t, () => {});
  const result = await scan(scanner.url, fileWith(t, 'x'), { timeoutMs: 300, idleMs: 100 });
  assert.match(reasonOf(result), /^127\.0\.0\.1:\d+ gave no answer within 0\.3 s$/);
});

test('a scanner that sends its answer drop by drop is held to the same limit', async (t) => {
  const scanner = await startOrigin(t, (_request, response) => {
    response.writeHead(200);
    const drops = setInterval(() => response.write(' '), 10);
    response.once('close', () => clearInterval(drops));
  });
  const result = await scan(scanner.url, fileWith(t, 'x'), { timeoutMs: 300 });
  assert.match(reasonOf(result), /gave no answer within 0\.3 s$/);
});

test('a scanner that takes no more bytes is given up after the idle limit', async (t) => {
  const { url } = await startRawOrigin(t, (socket) => void socket.pause());
  const result = await scan(url, fileWith(t, Buffer.alloc(32 * MIB)), { idleMs: 200 });
  assert.match(reasonOf(result), /took nothing within 0\.2 s$/);
});

test('a scanner may take its time as long as bytes move', async (t) => {
  const { url } = await startRawOrigin(t, (socket) => {
    let left = MIB;
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"clean":true}');
    });
  });
  const pass = handClock(t);
  await using anyFile = await open(import.meta.filename);
  const prototype = Object.getPrototypeOf(anyFile) as FileHandle;
  const { read } = prototype;
  let pieces = 0;
  t.mock.method(prototype, 'read', function each(this: FileHandle, ...args: unknown[]): unknown {
    pieces += 1;
    pass(400); // since the last piece was taken
    return Reflect.apply(read, this, args);
  });
  const result = await scan(url, fileWith(t, Buffer.alloc(MIB)), { idleMs: 500 });
  assert.deepEqual(result, { verdict: 'clean' });
  assert.ok(pieces > 2, 'the scan outlasted the idle limit');
});

test('"clean" said before all bytes were sent is no verdict', async (t) => {
  const { url } = await startRawOrigin(t, (socket) => void socket.once('data', () => {
    socket.pause();
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"clean":true}');
  }));
  const result = await scan(url, fileWith(t, Buffer.alloc(32 * MIB)));
  assert.match(reasonOf(result), /called the file clean before it had received the whole file$/);
});

test('a file that is gone, or is not of the size that was counted, is not sent', async (t) => {
  const scanner = await startOrigin(t, reply(200, {}, '{"clean":true}'));
  const file = fileWith(t, 'twelve bytes');

  const gone = await scan(scanner.url, { ...file, path: `${file.path}-gone` });
  assert.match(reasonOf(gone), /cannot be opened \(ENOENT\)$/);
  assert.match(reasonOf(await scan(scanner.url, { ...file, bytes: 11 })), /has 12 bytes instead of 11$/);
  assert.match(reasonOf(await scan(scanner.url, { ...file, bytes: 13 })), /has 12 bytes instead of 13$/);
  assert.equal(scanner.requests.length, 0);
});

test('no socket, file or timer outlives a scan, however it ended', async (t) => {
  const file = fileWith(t, Buffer.alloc(8 * MIB));
  const quick = await Promise.all([
    startOrigin(t, reply(200, {}, '{"clean":true}')), startOrigin(t, reply(500, {}, 'no')),
    startRawOrigin(t, (socket) => void socket.destroy()),
  ]);
  const paused: Socket[] = [];
  const stuck = await Promise.all([
    startOrigin(t, () => {}), startRawOrigin(t, (socket) => void paused.push(socket.pause())),
    startRawOrigin(t, rawReply('HTTP/1.1 200 OK\r\n\r\n{"clean":tr', { end: false })),
  ]);
  await waitUntil('what earlier tests left is gone', () => openHandles() === 0);
  const results = await Promise.all([
    ...quick.map(({ url }) => scan(url, file)), // a timer left behind would be there for 10 s or 20 s
    ...stuck.map(({ url }) => scan(url, file, { timeoutMs: 400, idleMs: 300 })),
  ]);

  assert.deepEqual(results.map(({ verdict }) => verdict), ['clean', ...Array(5).fill('unavailable')]);
  assert.equal(openPaths().includes(file.path), false);
  for (const socket of paused) socket.resume(); // so that it sees its end
  await waitUntil('sockets and timers are gone', () => openHandles() === 0);
});

test('a proxy named in the environment does not see the files', async (t) => {
  const proxy = await startOrigin(t, reply(200, {}, '{"clean":true,"by":"proxy"}'));
  const scanner = await startOrigin(t, reply(200, {}, '{"clean":false}'));
  const file = fileWith(t, 'x');
  const program = `
    import { scanFile } from ${JSON.stringify(join(PROJECT_ROOT, 'src/features/attachments/scan-file.ts'))};
    const options = { url: ${JSON.stringify(scanner.url)}, timeoutMs: 5_000 };
    console.log((await scanFile(options, ${JSON.stringify(file)})).verdict);
  `;
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, http_proxy: proxy.url, ...NO_PROXY };
  const { stdout, stderr } = await runProgram(process.execPath, ['--input-type=module', '--eval', program], { env });

  assert.equal(stdout, 'infected\n', stderr);
  assert.equal(proxy.requests.length, 0);
});
