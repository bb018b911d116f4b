import { createInput } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { byteSize } from '../../platform/in-words.ts';
import { accounts } from '../accounts/account-store.ts';
import { bytesLeft } from '../attachments/receive-upload.ts';
import { audit, type By } from '../audit/audit.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { posts } from '../posts/post-store.ts';
import { changingReaders } from '../posts/update-readers.ts';
import { fitsContentQuota } from '../sources/content-quota.ts';
import { manageableSource, maySeeSource, sources, type Source } from '../sources/source-store.ts';
import { sourcesLeft } from './add-source.ts';
import { countFollowers, tellFollowers } from './tell-followers.ts';

/**
 * Transfers a source with all its posts to the account named in `values` and returns the changed source. 403 or 404 as
 * for other changes, 422 for an unknown name or too little room, 409 if the account already has the feed.
 */
export function transferSource(
  hub: Hub, id: number, values: Record<string, unknown>, by: By,
): Promise<Source> {
  return giveSource(hub, id, by, (source) => {
    const ownerId = accounts(hub).findByName(readUsername(values))?.id;
    if (ownerId === undefined) throw refused(422, 'There is no account with this name.');
    requireFits(hub, withBytes(hub, source), ownerId, by.viewer);
    return ownerId;
  });
}

/** Followers tried as new owners, longest following first. */
const MOST_TRIED = 50;

/** Transfers a source to the longest-standing follower with room for it. 409 if there is none. */
export function handOverSource(hub: Hub, id: number, by: By): Promise<Source> {
  return giveSource(hub, id, by, (source) => {
    const followers = countFollowers(hub, source) > 0 ? follows(hub).others(id, source.ownerId) : [];
    const given = withBytes(hub, source);
    const next = followers.slice(0, MOST_TRIED).find((follower) =>
      accounts(hub).find(follower)?.disabledAt === null && fits(hub, given, follower, by.viewer));
    if (next === undefined) throw new HttpError(409, 'Nobody who follows this source can take it over.');
    return next;
  });
}

/** `bytes`: total size of its files, counted once for all candidates. */
type Given = Source & { bytes: number };

function withBytes(hub: Hub, source: Source): Given {
  return { ...source, bytes: posts(hub).fileBytes(source) };
}

function fits(hub: Hub, source: Given, ownerId: number, viewer: Viewer): boolean {
  try {
    requireFits(hub, source, ownerId, viewer);
    return true;
  } catch (error) {
    if (error instanceof HttpError) return false;
    throw error;
  }
}

async function giveSource(
  hub: Hub, id: number, by: By, choose: (source: Source) => number,
): Promise<Source> {
  manageableSource(hub, id, by.viewer);
  return changingReaders(hub, { name: 'transfer source', sourceId: id, accountId: by.viewer.id }, () => {
    const source = manageableSource(hub, id, by.viewer);
    const ownerId = choose(source);
    sources(hub).setOwner(id, ownerId);
    // Ids rather than names: either account may be deleted later.
    const detail = { from: source.ownerId, to: ownerId };
    audit(hub, 'source.transferred', by, { kind: 'source', id, name: source.title }, detail);
    notifyTransferred(hub, source, ownerId);
    const given = sources(hub).find(id) ?? source;
    tellFollowers(hub, 'source.new-owner', source, given, [ownerId]);
    return given;
  });
}

/** Notifies the previous and the new owner, in the caller's transaction. Neither learns the other's name. */
function notifyTransferred(hub: Hub, { id, title, kind, ownerId }: Source, newOwnerId: number): void {
  const advice = kind === 'webhook' ? '. Create a new secret for it: the previous owner knows the current one' : '';
  const event = 'source.transferred';
  const tell = (accountId: number, whose: string, path: string): void =>
    notifications(hub).add({ accountId, kind: event, title: `“${title}” now belongs to ${whose}`, path });
  tell(ownerId, 'someone else', '/sources');
  tell(newOwnerId, `you${advice}`, `/sources/${id}`);
}

function readUsername(values: Record<string, unknown>): string {
  const input = createInput(values);
  const username = input.text('username', { max: 32 });
  input.done();
  return username;
}

/** Throws if the account cannot own the source. Only administrators learn why: feeds and disk use are private. */
function requireFits(hub: Hub, source: Given, id: number, viewer: Viewer): void {
  if (id === source.ownerId) throw refused(409, 'This account already owns the source.');
  const isAdmin = viewer.role === 'admin';
  const same = source.feedUrl === null ? undefined : sources(hub).idOfFeed(source.feedUrl, id);
  if (same !== undefined && maySeeSource(hub, same, viewer)) {
    throw refused(409, 'This account already has a source of the same feed.');
  }
  const isFull = sourcesLeft(hub, id) === 0;
  if (isFull && isAdmin) throw refused(422, 'This account already has the maximum number of sources.');
  const missing = source.bytes === 0 ? 0 : Math.max(0, source.bytes - bytesLeft(hub, id));
  if (missing > 0 && isAdmin) throw noRoom(missing);
  const isTooLarge = !fitsContentQuota(hub, source.id, id);
  if (isTooLarge && isAdmin) throw refused(422, 'The source’s posts would exceed the content quota of this account.');
  if (isTooLarge || same !== undefined || isFull || missing > 0) {
    throw refused(422, 'This account already has the feed, too little space, or the maximum number of sources.');
  }
}

function noRoom(missing: number): HttpError {
  const detail = `This account lacks the space for the source’s files: it needs ${byteSize(missing)} more.`;
  return new HttpError(422, detail, { errors: [{ pointer: '/username', detail }], members: { bytesMissing: missing } });
}

function refused(status: 409 | 422, detail: string): HttpError {
  const errors = [{ pointer: '/username', detail }];
  return status === 422 ? invalid(errors) : new HttpError(status, detail, { errors });
}
