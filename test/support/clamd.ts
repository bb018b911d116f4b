import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createClamdClient, type ClamdAddress } from '../../src/platform/net/clamd-client.ts';
import { waitUntil } from './wait-until.ts';

/** The EICAR test file, in two pieces so that scanners leave this one alone. */
export const EICAR = 'X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-' + 'ANTIVIRUS-TEST-FILE!$H+H*';
/** Found wherever it stands in a file. */
export const BAD_WORDS = 'the hub calls this sentence a virus';

/** What the signatures below are called in clamd's answers. */
export const EICAR_NAME = 'Hub.Eicar.UNOFFICIAL';
export const BAD_WORDS_NAME = 'Hub.BadWords.UNOFFICIAL';

const hex = (text: string): string => Buffer.from(text).toString('hex');
const SIGNATURES = `Hub.Eicar:0:0:${hex(EICAR)}\nHub.BadWords:0:*:${hex(BAD_WORDS)}\n`;

const SOCKET_FOLDER = join(tmpdir(), 'clamd-');

/** A folder with a short path, as sockets need it, removed after the test. */
export function socketFolder(t: TestContext): string {
  const folder = mkdtempSync(SOCKET_FOLDER);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A real clamd that knows two signatures, up and answering; `settings` are further lines of its clamd.conf. */
export async function startClamd(
  t: TestContext, settings: readonly string[] = [], tcpPort?: number,
): Promise<{ address: ClamdAddress; process: ChildProcess; kill(): Promise<void> }> {
  const folder = mkdtempSync(SOCKET_FOLDER);
  const path = join(folder, 'clamd.sock');
  const listen = tcpPort === undefined ? `LocalSocket ${path}` : `TCPSocket ${tcpPort}\nTCPAddr 127.0.0.1`;
  mkdirSync(join(folder, 'signatures'));
  writeFileSync(join(folder, 'signatures/hub.ndb'), SIGNATURES);
  const folders = [`DatabaseDirectory ${folder}/signatures`, `TemporaryDirectory ${folder}`];
  const lines = [listen, ...folders, 'Foreground yes', ...settings];
  writeFileSync(join(folder, 'clamd.conf'), `${lines.join('\n')}\n`);

  const process = spawn('clamd', [`--config-file=${folder}/clamd.conf`], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [process.stdout, process.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const ended = once(process, 'close');
  const kill = async (): Promise<void> => {
    process.kill('SIGKILL');
    await ended;
  };
  t.after(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const address: ClamdAddress = tcpPort === undefined ? { path } : { host: '127.0.0.1', port: tcpPort };
  const clamd = createClamdClient({ address, maxBytes: 1 });
  await waitUntil('clamd answers', async () => {
    if (process.exitCode !== null) throw new Error(`clamd ended with ${process.exitCode}: ${output}`);
    return clamd.ping(AbortSignal.timeout(5_000)).then(() => true, () => false);
  }, 60_000);
  return { address, process, kill };
}

/** Takes a whole INSTREAM, then calls back with the bytes of the file. */
export function onWholeStream(socket: Socket, then: (file: Buffer) => void): void {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const file = fileIn(received);
    if (file) then(file);
  });
}

/** The file in `zINSTREAM\0`, then length and chunk again and again, then length 0; undefined until it is complete. */
export function fileIn(received: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  let at = 'zINSTREAM\0'.length;
  while (at + 4 <= received.length) {
    const size = received.readUInt32BE(at);
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(received.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return undefined;
}
