import assert from 'node:assert/strict';
import type { Client } from './client.ts';
import type { Hub } from './hub.ts';
import { number } from './migrated-database.ts';

/** Sends a JSON body with a method that seldom has one. */
export function sendJson(client: Client, method: string, path: string, value: unknown) {
  return client.send(method, path, { body: JSON.stringify(value), headers: { 'content-type': 'application/json' } });
}

/** Asks to have the account deleted, by default with the right words. */
export function leave(hub: Hub, client: Client, values: Record<string, unknown> = {}) {
  return sendJson(client, 'DELETE', '/api/account', { password: hub.password, confirmation: 'DELETE', ...values });
}

/** The id of a new source of own posts. */
export async function addNotes(client: Client, title = 'Notes', visibility = 'public'): Promise<number> {
  const added = await client.post('/api/sources', { kind: 'native', title, visibility });
  assert.equal(added.status, 201, added.text);
  return added.json<{ id: number }>().id;
}

/** The id of a new post in it. */
export async function addPost(client: Client, sourceId: number, title = 'A post', content = 'Text'): Promise<number> {
  const written = await client.post('/api/posts', { sourceId, title, content, contentType: 'text/plain' });
  assert.equal(written.status, 201, written.text);
  return written.json<{ id: number }>().id;
}

/** The id of a new source that follows the feed at that address. */
export async function addFeed(client: Client, url: string, values: Record<string, unknown> = {}): Promise<number> {
  const added = await client.post('/api/sources', { kind: 'feed', url, ...values });
  assert.equal(added.status, 201, added.text);
  return added.json<{ id: number }>().id;
}

/** The members of a list of the API. */
export async function itemsAt<Item = Record<string, unknown>>(client: Client, path: string): Promise<Item[]> {
  const answer = await client.get(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<{ items: Item[] }>().items;
}

/** What somebody has been told, newest first. */
export async function notificationTitles(client: Client, query = ''): Promise<string[]> {
  return (await itemsAt<{ title: string }>(client, `/api/notifications${query}`)).map(({ title }) => title);
}

/** The titles of the posts that a search finds, in order of the alphabet. */
export async function foundTitles(client: Client, typed: string, query = ''): Promise<string[]> {
  const found = await itemsAt<{ title: string }>(client, `/api/posts?${new URLSearchParams({ q: typed })}${query}`);
  return found.map(({ title }) => title).sort();
}

/** What the database says to a question with one number as its answer. */
export function numberIn({ db }: Pick<Hub, 'db'>, sql: string): number {
  return number(db, sql);
}
