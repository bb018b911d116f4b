import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Db } from '../../src/platform/db/open-database.ts';
import { addNotes } from './accounts.ts';
import { cookieOf, type Answer, type Client } from './client.ts';
import { startHub, type Hub } from './hub.ts';
import { BOUNDARY, fieldHeaders, fileHeaders, writeForm } from './multipart.ts';
import { sha256Of } from './sha256.ts';
import { countRows, rowsOf } from './stored-rows.ts';
import { assertUsageIsRight } from './stored-uploads.ts';

export type SentFile = { filename: string; data: string | Buffer };
/** A file as the API shows it; a publisher's file may lack what is text or a number here. */
export type Attachment = {
  id: number; kind: string; filename: string; mediaType: string; bytes: number; sha256: string; url: string; scan: string;
};
export type PostAnswer = { id: number; title: string; contentHtml: string; attachments: Attachment[] };

export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Somebody with a source of own posts. */
export async function writer(hub: Hub, username: string, visibility = 'public') {
  const client = await hub.person(username);
  return { client, sourceId: await addNotes(client, 'Notes', visibility) };
}

/** A hub whose administrator, ada, has a public source of own posts. */
export async function hubWithWriter(t: TestContext, env: Record<string, string> = {}) {
  const hub = await startHub(t, env);
  return { hub, ada: await writer(hub, 'ada') };
}

export function formWith(fields: Record<string, string>, files: SentFile[] = []): Buffer {
  return writeForm([
    ...Object.entries(fields).map(([name, data]) => ({ headers: fieldHeaders(name), data })),
    ...files.map(({ filename, data }) => ({ headers: fileHeaders('attachments', filename), data })),
  ]);
}

/** A form as browsers encode it. */
export function formOf(fields: Record<string, string>, files: SentFile[]): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const { filename, data } of files) form.append('attachments', new Blob([new Uint8Array(Buffer.from(data))]), filename);
  return form;
}

/** Sends a form as that person. */
export async function sendForm(
  hub: { address: string }, client: Client, path: string, form: Buffer | FormData, accept = '*/*',
): Promise<Answer> {
  const response = await fetch(hub.address + path, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'sec-fetch-site': 'same-origin', cookie: cookieOf(client), accept,
      ...(form instanceof Buffer && { 'content-type': FORM_TYPE }),
    },
    body: form instanceof Buffer ? new Uint8Array(form) : form,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
}

/** Writes a post with files, which must be taken. */
export async function writePost(
  hub: { address: string }, { client, sourceId }: { client: Client; sourceId: number }, files: SentFile[] = [],
  fields: Record<string, string> = {},
): Promise<PostAnswer> {
  const form = formOf({ sourceId: String(sourceId), title: 'A post', content: 'Some text', ...fields }, files);
  const answer = await sendForm(hub, client, '/api/posts', form);
  assert.equal(answer.status, 201, answer.text);
  return answer.json<PostAnswer>();
}

export function addFiles(hub: { address: string }, client: Client, postId: number, files: SentFile[]): Promise<Answer> {
  return sendForm(hub, client, `/api/posts/${postId}/attachments`, formWith({}, files));
}

export function uploadPath(dataDir: string, sha256: string): string {
  return join(dataDir, 'uploads', sha256.slice(0, 2), sha256);
}

/** The hashes under which files are kept, and what stands in tmp/. */
export function filesIn(dataDir: string): { uploads: string[]; tmp: string[] } {
  const entries = readdirSync(join(dataDir, 'uploads'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return { uploads: files.map(({ name }) => name).sort(), tmp: readdirSync(join(dataDir, 'tmp')) };
}

/** The same, of this process's own open files. */
export function openFilesIn(dataDir: string): string[] {
  const folders = ['tmp', 'uploads'].map((name) => `${join(dataDir, name)}/`);
  return openPaths().filter((path) => folders.some((folder) => path.startsWith(folder)));
}

/** The paths of all open descriptors of this process. */
export function openPaths(): string[] {
  return readdirSync('/proc/self/fd').map(targetOf);
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return ''; // the one that readdir used
  }
}

/** What rows say about files. */
export function uploadRows(db: Db): { sha256: string; bytes: number; scan: string; attachments: number }[] {
  return db.prepare<[], { sha256: string; bytes: number; scan: string; attachments: number }>('uploads', `
    SELECT sha256, bytes, scan,
           (SELECT COUNT(*) FROM attachments WHERE attachments.sha256 = uploads.sha256) AS attachments
      FROM uploads ORDER BY sha256`).all();
}

/** No file, no row of one, nothing open: as before anybody sent a file. */
export function assertNothingKept({ db, dataDir }: Pick<Hub, 'db' | 'dataDir'>, posts = 0): void {
  assert.deepEqual(filesIn(dataDir), { uploads: [], tmp: [] });
  assert.deepEqual(openFilesIn(dataDir), []);
  assert.deepEqual(rowsOf({ db }, 'uploads', 'attachments'), [[], []]);
  assert.equal(countRows({ db }, 'posts'), posts);
  assertUsageIsRight({ db });
}

/** Every row has its file with the right bytes, and every file in its place a row. */
export function assertFilesMatchRows({ db, dataDir }: Pick<Hub, 'db' | 'dataDir'>): void {
  const rows = uploadRows(db);
  assert.deepEqual(filesIn(dataDir).uploads, rows.map(({ sha256 }) => sha256));
  for (const { sha256 } of rows) assert.equal(sha256Of(uploadPath(dataDir, sha256)), sha256);
}
