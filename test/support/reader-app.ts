import { accounts } from '../../src/features/accounts/account-store.ts';
import { apiTokens } from '../../src/features/accounts/credential-store.ts';
import { createClient, type Answer } from './client.ts';
import type { Hub } from './hub.ts';

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

/** The posts that `stream/items/ids` names. */
export async function itemIds(app: ReaderApp, query: string): Promise<number[]> {
  const { itemRefs } = (await app.get(`stream/items/ids?${query}`)).json<{ itemRefs: { id: string }[] }>();
  return itemRefs.map(({ id }) => Number(id) - 10 ** 15);
}
