import { PLAIN, SealedSecretError, sealedSecrets } from '../../platform/secrets.ts';
import type { Hub } from '../hub/hub.ts';
import { feedCredentials } from '../sources/feed-credentials-store.ts';
import { syncState, type SyncState } from '../sources/sync-state-store.ts';

/** What a publisher asks for before it gives out a feed (HTTP Basic, RFC 7617). */
export type FeedPassword = { username: string; password: string };

const passwords = sealedSecrets('feed');

/** The value of the Authorization header with that user name and password (HTTP Basic). */
export function basicAuthorization({ username, password }: FeedPassword): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Keeps a feed's password for the feed's present origin, or forgets it, in the caller's transaction. */
export function keepPassword(hub: Hub, sourceId: number, given: FeedPassword | null): void {
  const url = syncState(hub).find(sourceId)?.url;
  if (url === undefined) return;
  const text = given && JSON.stringify([new URL(url).origin, basicAuthorization(given)]);
  feedCredentials(hub).keep(sourceId, text && passwords.seal(hub.config, sourceId, text));
}

/**
 * The Authorization header for a feed; undefined where it has none, or has moved to another origin than the one that
 * the password was given for. The error's message is for the owner.
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
    hub.log.error('passwords of feeds cannot be read', { error: error.message });
    throw new Error('The hub cannot read the stored password of this feed: enter it again.', { cause: error });
  }
}

/** Seals up to `limit` passwords from before there was a key, in the caller's transaction. Returns how many. */
export function sealFeedPasswords(hub: Hub, limit: number): number {
  if (hub.config.hubSecretKey === null) return 0;
  const plain = feedCredentials(hub).beginningWith(PLAIN, limit);
  for (const { sourceId, credentials } of plain) {
    feedCredentials(hub).keep(sourceId, passwords.sealAnew(hub.config, sourceId, credentials));
  }
  return plain.length;
}
