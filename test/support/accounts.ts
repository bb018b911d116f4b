import assert from 'node:assert/strict';
import { preferences } from '../../src/features/accounts/preferences-store.ts';
import { DEFAULT_PREFERENCES, SWITCHES } from '../../src/features/hub/preferences.ts';
import { createClient, type Client } from './client.ts';
import type { Hub } from './hub.ts';

/** Sends a JSON body with a method that seldom has one. */
export function sendJson(client: Client, method: string, path: string, value: unknown) {
  return client.send(method, path, { body: JSON.stringify(value), headers: { 'content-type': 'application/json' } });
}

/** Switches all preferences of an account on or off. */
export function switchPreferences({ handle }: Hub, accountId: number, isOn: boolean): void {
  const switches = Object.fromEntries(SWITCHES.map((name) => [name, isOn]));
  preferences(handle).set(accountId, { ...DEFAULT_PREFERENCES, ...switches });
}

/** Follows a source, or changes the follow. */
export async function addFollow(client: Client, sourceId: number, values: Record<string, unknown> = {}): Promise<void> {
  assert.equal((await sendJson(client, 'PUT', `/api/sources/${sourceId}/follow`, values)).status, 204);
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

/** The id of the open offer that a transfer to a member makes. */
export async function offerTo(client: Client, sourceId: number, username: string): Promise<number> {
  const offered = await client.post(`/api/sources/${sourceId}/transfer`, { username });
  assert.equal(offered.status, 202, offered.text);
  return offered.json<{ offer: { id: number } }>().offer.id;
}

/** Transfers a source to a member, who accepts it. */
export async function giveTo(client: Client, sourceId: number, username: string, receiver: Client): Promise<void> {
  const accepted = await receiver.post(`/api/offers/${await offerTo(client, sourceId, username)}/accept`);
  assert.equal(accepted.status, 204, accepted.text);
}

/** The members of a list of the API. */
export async function itemsAt<Item = Record<string, unknown>>(client: Client, path: string): Promise<Item[]> {
  const answer = await client.get(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<{ items: Item[] }>().items;
}

/** The titles of the sources in each folder of somebody's reading list; null for sources without a folder. */
export async function foldersOf(client: Client): Promise<[name: string | null, titles: string[]][]> {
  const { folders } = (await client.get('/api/reading')).json<Reading>();
  return folders.map(({ name, sources }) => [name, sources.map(({ title }) => title)]);
}

type Reading = { folders: { name: string | null; sources: { title: string }[] }[] };

/** What somebody has been told, newest first. */
export async function notificationTitles(client: Client, query = ''): Promise<string[]> {
  return (await itemsAt<{ title: string }>(client, `/api/notifications${query}`)).map(({ title }) => title);
}

/** Titles of the posts that everybody sees, newest first. */
export async function publicTitles({ anybody }: Pick<Hub, 'anybody'>): Promise<string[]> {
  return (await itemsAt<{ title: string }>(anybody, '/api/posts?limit=100')).map(({ title }) => title);
}

/** Titles of all posts that somebody sees, over all pages of the list. */
export async function everyTitle(client: Client): Promise<string[]> {
  const titles: string[] = [];
  for (let path: string | null = '/api/posts?limit=100'; path !== null;) {
    const page: { items: { title: string }[]; next: string | null } = (await client.get(path)).json();
    titles.push(...page.items.map(({ title }) => title));
    path = page.next && `/api/posts?limit=100&cursor=${encodeURIComponent(page.next)}`;
  }
  return titles;
}

/** The titles of the posts that a search finds, in order of the alphabet. */
export async function foundTitles(client: Client, typed: string, query = ''): Promise<string[]> {
  const found = await itemsAt<{ title: string }>(client, `/api/posts?${new URLSearchParams({ q: typed })}${query}`);
  return found.map(({ title }) => title).sort();
}

/** Where the mistakes of a refused request are. */
export function pointersOf(answer: { json<T>(): T }): string[] {
  return (answer.json<{ errors?: { pointer: string }[] }>().errors ?? []).map(({ pointer }) => pointer);
}

/** A second browser of somebody. */
export async function browserOf(hub: Pick<Hub, 'address' | 'password'>, username: string): Promise<Client> {
  const browser = createClient(hub.address);
  assert.equal((await browser.post('/api/session', { username, password: hub.password })).status, 200);
  return browser;
}

/** A new API token of that person. */
export async function tokenOf(
  hub: Pick<Hub, 'password'>, client: Client, values: object = {},
): Promise<{ id: number; token: string }> {
  const made = await client.post('/api/tokens', { name: 'script', currentPassword: hub.password, ...values });
  assert.equal(made.status, 201, made.text);
  return made.json<{ id: number; token: string }>();
}
