import assert from 'node:assert/strict';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { apiTokens } from '../../src/features/accounts/credential-store.ts';
import { createClient, type Answer } from './client.ts';
import type { Hub } from './hub.ts';

/** The beginning of the streams of states. */
export const STATE = 'user/-/state/com.google/';

export type ReaderApp = ReturnType<typeof appWith>;

/** An app password of somebody, made without the form that costs a password hash. */
export function appPassword({ handle }: Hub, username: string): string {
  const account = accounts(handle).findByName(username);
  if (!account) throw new Error(`there is no ${username}`);
  return apiTokens(handle).create(account.id, 'an app', 'reader', null).token;
}

/** An app that has signed in as somebody: it sends the header of the Google Reader API, and no cookie. */
export function appOf(hub: Hub, username: string) {
  return appWith(hub, appPassword(hub, username));
}

/** An app with this app password. Paths begin after `/reader/api/0/`. */
export function appWith({ address }: Hub, password: string) {
  const client = createClient(address);
  const headers = { authorization: `GoogleLogin auth=${password}` };
  return {
    password,
    headers,
    get: (call: string): Promise<Answer> => client.get(`/reader/api/0/${call}`, headers),
    /** A POST with the parameters as text, not encoded, as several apps send them. */
    post: (call: string, body = ''): Promise<Answer> => client.send('POST', `/reader/api/0/${call}`,
      { body, headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' } }),
  };
}

/** The item id of a post, in its decimal form. */
export function itemId(postId: number): string {
  return String(10 ** 15 + postId);
}

/** The item id of a post in hex, padded to the length of the decimal form. */
export function hexItemId(postId: number): string {
  return (10 ** 15 + postId).toString(16).padStart(16, '0');
}

/** The posts that `stream/items/ids` names. */
export async function itemIds(app: ReaderApp, query: string): Promise<number[]> {
  return idsIn(await app.get(`stream/items/ids?${query}`));
}

/** The posts that an answer to `stream/items/ids` names. */
export function idsIn(answer: Answer): number[] {
  return answer.json<{ itemRefs: { id: string }[] }>().itemRefs.map(({ id }) => Number(id) - 10 ** 15);
}

/** Marks or stars posts by `edit-tag`, which must answer OK. `change`: the states, such as `a=${STATE}read`. */
export async function edit(app: ReaderApp, ids: number[], change: string): Promise<void> {
  const { status, text } = await app.post('edit-tag', `${change}&${ids.map((id) => `i=${itemId(id)}`).join('&')}&T=x\n`);
  assert.deepEqual([status, text], [200, 'OK'], change);
}
