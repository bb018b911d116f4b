import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { MINUTE } from '../../src/platform/clock.ts';
import { addNotes, addPost } from './accounts.ts';
import { cookieOf, type Answer, type Client } from './client.ts';
import { hubWith, type Hub } from './hub.ts';
import { formOf, sendForm, writePost, type Attachment, type PostAnswer, type SentFile } from './uploads.ts';

export type ShownPost = PostAnswer;

/** A file as the hub gave it out. */
export type Served = { status: number; headers: Headers; body: Buffer };

/** A hub whose `ada`, its administrator, has a source of own posts. */
export async function hubWithOwnPosts(t: TestContext, env: Record<string, string> = {}, visibility = 'public') {
  const { hub, ada } = await hubWith(t, ['ada'], env);
  return { hub, ada, sourceId: await addNotes(ada, 'Notes', visibility) };
}

/** Ada's public notes with so many posts, oldest first and `apart` (ms) from each other, and bob, who reads. */
export async function hubWithReader(t: TestContext, count: number, apart = MINUTE) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const posts: number[] = [];
  for (let n = 1; n <= count; n++) {
    hub.passTime(apart);
    posts.push(await addPost(ada, sourceId, `Post ${n}`));
  }
  return { hub, ada, bob, sourceId, posts };
}

/** Sends a form of a page with files as the person's browser would. */
export function submitForm(
  hub: Hub, client: Client, path: string, fields: Record<string, string>, files: SentFile[],
): Promise<Answer> {
  return sendForm(hub, client, path, formOf(fields, files), 'text/html');
}

/** The form for a post on a page: its address, the path of the address, and the hidden fields that a browser sends. */
export function formOn(page: string): { action: string; path: string; hidden: Record<string, string> } {
  const action = /<form method="post" action="([^"]+)" enctype/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? assert.fail();
  const fields = page.matchAll(/<input type="hidden" name="(tab|revision|version)"\s+value="([^"]*)"/g);
  const hidden = Object.fromEntries(Array.from(fields, ([, name = '', value = '']) => [name, value]));
  return { action, path: action.replace(/\?.*/, ''), hidden };
}

/** Path and identity of the only attachment of a new post. */
export async function attachOne(
  hub: Hub, client: Client, sourceId: number, name: string, content: Buffer | string,
): Promise<{ path: string; attachment: Attachment; post: ShownPost }> {
  const post = await writePost(hub, { client, sourceId }, [{ filename: name, data: content }]);
  const [attachment] = post.attachments;
  assert.ok(attachment);
  return { path: pathOf(attachment), attachment, post };
}

/** A text in which each file's address has `KEY` for its random part. */
export function withoutKeys(text: string): string {
  return text.replace(/(\/attachments\/\d+)-[0-9a-f]{16}\//g, '$1-KEY/');
}

/** The path below the hub's address at which the API says that the file is. */
export function pathOf({ url }: Attachment): string {
  assert.ok(url);
  return new URL(url).pathname;
}

/** Asks the hub for a file, as somebody or as nobody. */
export async function getFile(
  hub: Hub, path: string, { headers = {}, as, method = 'GET' }:
  { headers?: Record<string, string>; as?: Client; method?: string } = {},
): Promise<Served> {
  const cookie = as ? { cookie: cookieOf(as) } : {};
  const response = await fetch(hub.address + path, { method, headers: { ...cookie, ...headers }, redirect: 'manual' });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}
