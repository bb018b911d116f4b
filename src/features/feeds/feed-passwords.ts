import { PLAIN, SealedSecretError, sealedSecrets } from '../../platform/secrets.ts';
import type { Hub } from '../hub/hub.ts';
import { feedCredentials } from '../sources/source-store.ts';
import { syncState, type SyncState } from '../sources/sync-state-store.ts';

/** User name and password that a publisher requires for a feed (HTTP Basic, RFC 7617). */
export type FeedPassword = { username: string; password: string };

const passwords = sealedSecrets('feed');

export function basicAuthorization({ username, password }: FeedPassword): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Stores a feed's password for its present origin, in the caller's transaction; null removes it. */
export function keepPassword(hub: Hub, sourceId: number, given: FeedPassword | null): void {
  const url = syncState(hub).find(sourceId)?.url;
  if (url === undefined) return;
  const text = given && JSON.stringify([new URL(url).origin, basicAuthorization(given)]);
  feedCredentials(hub).keep(sourceId, text && passwords.seal(hub.config, sourceId, text));
}

/**
 * Undefined if the feed has no password, or `url` has another origin than the one that the password was given for.
 * Throws an error for the owner of the feed if the password cannot be decrypted.
 */
export function authorizationFor(
  hub: Hub, { sourceId, url }: Pick<SyncState, 'sourceId' | 'url'>,
): string | undefined {
  const credentials = feedCredentials(hub).find(sourceId);
  if (credentials === null) return undefined;
  try {
    const text = passwords.open(hub.config, sourceId, credentials);
    const [origin, header]: string[] = JSON.parse(text);
    return origin === new URL(url).origin ? header : undefined;
  } catch (error) {
    if (!(error instanceof SealedSecretError)) throw error;
    hub.log.error('feed passwords cannot be read', { error: error.message });
    throw new Error('The hub cannot read the password of this feed. Enter it again.', { cause: error });
  }
}

/** Encrypts up to `limit` passwords stored without a key, in the caller's transaction; returns their number. */
export function sealFeedPasswords(hub: Hub, limit: number): number {
  if (hub.config.hubSecretKey === null) return 0;
  const plain = feedCredentials(hub).beginningWith(PLAIN, limit);
  for (const { sourceId, credentials } of plain) {
    feedCredentials(hub).keep(sourceId, passwords.sealAnew(hub.config, sourceId, credentials));
  }
  return plain.length;
}
