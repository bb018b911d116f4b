import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { benchFolder, newHub } from './bench-hub.ts';
import { alternate, moreRow, type BenchRow } from './bench-row.ts';
import { load, runClient, startPeer, startWeb, type RunningServer } from './bench-servers.ts';

const MEBIBYTE = 1024 * 1024;
const FILE = 20 * MEBIBYTE;
const SERVED = 4 * MEBIBYTE;
const ROUNDS = 5;
const ROUND_MS = 1_500;
const FILES_A_ROUND = 8;
const TOKEN = 'hub_bench';
const URL_OF_CACHED = 'https://example.org/cached.pdf';

/**
 * Files in and out over loopback: whole uploads to the disk with their hash, beside busboy, createHash and a file stream
 * that syncs nothing; downloads and hits of the cache beside node:http piping the same file. Rounds alternate, and the
 * medians are compared.
 */
export async function benchAttachments(): Promise<BenchRow[]> {
  using folder = benchFolder('attachments');
  const served = prepare(folder.path);
  const [uploads, peerFolder] = [join(folder.path, 'uploads'), join(folder.path, 'peer')];
  mkdirSync(peerFolder);
  await using hub = await startWeb(folder.path, { UPLOAD_QUOTA_BYTES: String(2 ** 40) });
  await using uploadPeer = await startPeer('bare-peers.ts', ['upload', peerFolder]);
  await using filePeer = await startPeer('bare-peers.ts', ['file', served]);
  const keep = createHash('sha256').update(readFileSync(served)).digest('hex');
  for (let n = 0; n < 256; n++) mkdirSync(join(uploads, n.toString(16).padStart(2, '0')), { recursive: true });
  const uploading = (atOnce: number) => async (server: RunningServer): Promise<number> => {
    const rate = await upload(server, atOnce);
    for (const each of [uploads, peerFolder]) empty(each, keep);
    return rate;
  };
  const downloading = (path: string) => (server: RunningServer): Promise<number> => download(server, path);
  return [
    await row('upload of 20 MiB', uploading(1), hub, uploadPeer),
    await row('uploads of 20 MiB, 6 at once', uploading(6), hub, uploadPeer),
    await row('download of 4 MiB', downloading('/attachments/1-0/served.pdf'), hub, filePeer),
    await row('cache hit of 4 MiB', downloading('/attachments/2-0/cached.pdf'), hub, filePeer),
  ];
}

async function row(
  name: string, measure: (server: RunningServer) => Promise<number>, hub: RunningServer, peerServer: RunningServer,
): Promise<BenchRow> {
  const [ours = NaN, peerFigure = NaN] = await alternate([() => measure(hub), () => measure(peerServer)], ROUNDS);
  const [peer, want] = name.startsWith('upload')
    ? ['busboy + createHash + file stream', '>= 1.2'] as const : ['node:http piping the file', '>= 0.95'] as const;
  return moreRow({ name, ours, peer, peerFigure, unit: 'MiB/s', want });
}

async function upload({ port }: RunningServer, atOnce: number): Promise<number> {
  const args = [port, '/api/posts/1/attachments', TOKEN, FILE, FILES_A_ROUND, atOnce];
  return Number(await runClient('upload-client.ts', args));
}

async function download(server: RunningServer, path: string): Promise<number> {
  return (await load(server, path, ROUND_MS)) * (SERVED / MEBIBYTE);
}

/** Removes the files below, but for the one that is served; folders stay, as in a hub that is in use. */
function empty(folder: string, keep: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name !== keep) rmSync(join(entry.parentPath, entry.name));
  }
}

/** A hub with an account, its token, a post, and a file to serve, uploaded and cached; returns the file's path. */
function prepare(folder: string): string {
  const content = Buffer.concat([Buffer.from('%PDF-1.4\n'), randomBytes(SERVED - 28), Buffer.from('\nstartxref\n9\n%%EOF\n')]);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const urlHash = createHash('sha256').update(URL_OF_CACHED).digest('hex');
  const served = join(folder, 'served.pdf');
  const places = [served, join(folder, 'uploads', sha256.slice(0, 2), sha256), join(folder, 'cache', urlHash.slice(0, 2), urlHash)];
  for (const place of places) {
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
  }
  const db = newHub(join(folder, 'hub.db'));
  db.exec(`
    INSERT INTO api_tokens (account_id, name, token_hash, scope, created_at)
      VALUES (1, 'bench', '${createHash('sha256').update(TOKEN).digest('hex')}', 'write', 0);
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) VALUES (1, 1, 'native', 'Notes', 0, 0);
    INSERT INTO posts (id, source_id, owner_id, guid, is_public, title, content_html, summary, content_hash,
                       published_at, updated_at, created_at)
      VALUES (1, 1, 1, 'p', 1, 'Post', '', '', '', 0, 0, 0);
    INSERT INTO uploads (sha256, bytes, media_type, scan, created_at)
      VALUES ('${sha256}', ${content.length}, 'application/pdf', 'clean', 0);
    INSERT INTO attachments (id, url_key, post_id, kind, position, filename, media_type, bytes, sha256, owner_id, created_at)
      VALUES (1, '0', 1, 'native', 0, 'served.pdf', 'application/pdf', ${content.length}, '${sha256}', 1, 0);
    INSERT INTO attachments (id, url_key, post_id, kind, position, filename, remote_url, created_at)
      VALUES (2, '0', 1, 'remote', 0, 'cached.pdf', '${URL_OF_CACHED}', 0);
    INSERT INTO cached_files (url_hash, bytes, media_type, sha256, fetched_at, used_at)
      VALUES ('${urlHash}', ${content.length}, 'application/pdf', '${sha256}', 0, ${Date.now()});`);
  db.close();
  return served;
}
