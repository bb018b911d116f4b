import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  connect as connectH2, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpStatusHeader,
} from 'node:http2';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { startHub } from './hub.ts';
import { freePort } from './ports.ts';
import { PROJECT_ROOT } from './run-program.ts';
import { makeSelfSigned } from './self-signed.ts';
import { waitUntil } from './wait-until.ts';

const PIECE = 256 * 1024;

export type ProxyKind = 'nginx' | 'caddy';
type Sent = { status: number; headers: IncomingHttpHeaders; body: Buffer };
type AskOptions = { method?: string; headers?: Record<string, string>; body?: Buffer | string; from?: string };

export const PROXIES: ProxyKind[] = ['nginx', 'caddy'];

export type Proxy = Awaited<ReturnType<typeof startProxy>>;

/** What the configurations say that the hub needs in its settings. */
const BEHIND_PROXY = { BASE_URL: 'https://hub.test', TRUSTED_PROXIES: '127.0.0.1/32' };

/**
 * A hub of this process behind such a proxy, and the paths of the requests that have reached it, each as soon as its
 * head is there. Needs the proxy's program, and root, as which Debian's nginx starts.
 */
export async function hubBehind(
  t: TestContext, kind: ProxyKind, edit?: (config: string) => string, settings: Record<string, string> = {},
) {
  const hub = await startHub(t, { ...BEHIND_PROXY, ...settings });
  const proxy = await startProxy(t, kind, Number(new URL(hub.address).port), edit);
  const reached: string[] = [];
  for (const event of ['request', 'checkExpectation']) {
    hub.server.prependListener(event, ({ url = '' }: IncomingMessage) => reached.push(url));
  }
  return { hub, proxy, reached };
}

/**
 * A real proxy with the configuration in `scripts/proxy`, in which only the name, the ports, the certificate and the
 * place of its cache are others, and what `edit` changes. It passes requests for `hub.test` to that port.
 */
export async function startProxy(
  t: TestContext, kind: ProxyKind, hubPort: number, edit: (config: string) => string = (config) => config,
) {
  const folder = mkdtempSync(join(tmpdir(), 'hub-proxy-'));
  const { key, cert } = makeSelfSigned('hub.test');
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  const [httpPort, port] = [await freePort(), await freePort()];
  const place = { folder, hubPort, httpPort, port };
  const command = kind === 'nginx' ? nginxCommand(place, edit) : caddyCommand(place, edit);
  await run(t, command, folder, httpPort);

  const tls = { host: '127.0.0.1', port, servername: 'hub.test', ca: cert };

  /** One request over HTTP/1.1 on a connection of its own, `from` an address of this machine. */
  function ask(path: string, { method = 'GET', headers, body, from = '127.0.0.1' }: AskOptions = {}): Promise<Sent> {
    const options: RequestOptions = {
      ...tls, method, path, headers: { host: 'hub.test', ...headers }, localAddress: from, agent: false,
    };
    return new Promise((resolve, reject) => {
      const sending = request(options, async (answer) => {
        const pieces: Buffer[] = await answer.toArray();
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) });
      });
      sending.on('error', reject);
      sending.end(body);
    });
  }

  /** A connection that speaks HTTP/2, as browsers do; ended after the test. */
  function http2(): ClientHttp2Session {
    const session = connectH2(`https://127.0.0.1:${port}`, { ca: cert, servername: 'hub.test' });
    session.on('error', () => {});
    t.after(() => session.destroy());
    return session;
  }

  /** A connection for bytes that no proper client sends. */
  async function raw(servername = 'hub.test'): Promise<TLSSocket> {
    const socket = connectTls({ ...tls, servername, ALPNProtocols: ['http/1.1'], rejectUnauthorized: false });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  }

  return { httpPort, ask, http2, raw };
}

/** One request over HTTP/2. Like a browser it stops sending when the answer is there. */
export async function askHttp2(
  session: ClientHttp2Session, method: string, path: string, headers: Record<string, string>, body: Buffer,
): Promise<Sent> {
  const stream = session.request({
    ':method': method, ':path': path, ':authority': 'hub.test', 'content-length': body.length, ...headers,
  });
  let isOver = false;
  const answer = answerOf(stream).finally(() => (isOver = true));
  for (let at = 0; at < body.length && !isOver; at += PIECE) {
    if (!stream.write(body.subarray(at, at + PIECE))) await Promise.race([once(stream, 'drain'), answer]);
  }
  stream.end();
  return answer;
}

async function answerOf(stream: ClientHttp2Stream): Promise<Sent> {
  let headers: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
  stream.on('response', (got) => (headers = got));
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  let broken: Error | undefined;
  stream.on('error', (error) => (broken = error));
  await new Promise<void>((resolve) => {
    for (const event of ['end', 'error', 'close'] as const) stream.once(event, () => resolve());
  });
  const status = headers[':status'];
  if (status === undefined) throw broken ?? new Error('the stream was closed without an answer');
  return { status, headers, body: Buffer.concat(pieces) };
}

type Place = { folder: string; hubPort: number; httpPort: number; port: number };
type Command = { file: string; args: string[]; env: Record<string, string> };

/** Debian's own nginx.conf with that one site, and what it writes in the folder. */
function nginxCommand({ folder, hubPort, httpPort, port }: Place, edit: (config: string) => string): Command {
  const site = replaceAll(edit(shipped('nginx.conf')), [
    ['127.0.0.1:8080', `127.0.0.1:${hubPort}`],
    ['listen 80', `listen 127.0.0.1:${httpPort}`], ['listen [::]:80', `listen [::1]:${httpPort}`],
    ['listen 443 ', `listen 127.0.0.1:${port} `], ['listen [::]:443 ', `listen [::1]:${port} `],
    ['/etc/letsencrypt/live/hub.example/fullchain.pem', join(folder, 'cert.pem')],
    ['/etc/letsencrypt/live/hub.example/privkey.pem', join(folder, 'key.pem')],
    ['hub.example', 'hub.test'], ['/var/cache/nginx/content-hub', join(folder, 'cache')],
  ]);
  const main = replaceAll(readFileSync('/etc/nginx/nginx.conf', 'utf8'), [
    ['user www-data;', 'user root;'], // who may enter the folder of the test
    ['include /etc/nginx/sites-enabled/*', `include ${join(folder, 'site.conf')}`],
    ['include /etc/nginx/conf.d/*.conf;', ''], ['/run/nginx.pid', join(folder, 'nginx.pid')],
    ['/var/log/nginx/error.log', join(folder, 'error.log')], ['access_log /var/log/nginx/access.log', 'access_log off'],
  ]);
  writeFileSync(join(folder, 'site.conf'), site);
  writeFileSync(join(folder, 'nginx.conf'), main);
  return { file: 'nginx', args: ['-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'], env: {} };
}

function caddyCommand({ folder, hubPort, httpPort, port }: Place, edit: (config: string) => string): Command {
  const site = replaceAll(edit(shipped('Caddyfile')), [
    ['127.0.0.1:8080', `127.0.0.1:${hubPort}`],
    ['\nhub.example {', `\nhub.test {\n\ttls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}`],
  ]);
  const options = `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port ${httpPort}\n\thttps_port ${port}\n}\n`;
  writeFileSync(join(folder, 'Caddyfile'), options + site);
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return { file: 'caddy', args: ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], env };
}

function shipped(name: string): string {
  return readFileSync(join(PROJECT_ROOT, 'scripts/proxy', name), 'utf8');
}

/** Each must be there: what was not replaced would make the test one of something else. */
function replaceAll(text: string, pairs: [from: string, to: string][]): string {
  for (const [from, to] of pairs) {
    assert.ok(text.includes(from), `the configuration has ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

async function run(t: TestContext, { file, args, env }: Command, folder: string, httpPort: number): Promise<void> {
  const child = spawn(file, args, { env: { PATH: process.env.PATH ?? '', ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += String(text)));
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const answers = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${httpPort}/`, { redirect: 'manual' }).then(() => true, () => false);
  await waitUntil(`${file} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`${file} ended: ${said}`);
    return answers();
  });
}
