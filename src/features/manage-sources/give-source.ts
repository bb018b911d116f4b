import { SECOND } from '../../platform/clock.ts';
import { HttpError, invalid, notFound } from '../../platform/http/http-error.ts';
import { accounts, type Account } from '../accounts/account-store.ts';
import { audit, type By } from '../audit/audit.ts';
import { follows } from '../follows/follow-store.ts';
import { metLimit, takeTurn, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { notifications } from '../notifications/notification-store.ts';
import { changingReaders } from '../posts/update-readers.ts';
import { settleSourceNow } from '../reading/settle-entries.ts';
import { manageableSource, sources, type Source } from '../sources/source-store.ts';
import { offers, type Offer } from './offer-store.ts';
import { countFollowers, forgetOffered, offersPath, tellFollowers } from './tell-followers.ts';

const GIVE_LIMIT: NamedLimit = { name: 'transfers', burst: 60, everyMs: 20 * SECOND };

const OPEN_MAX = 10;

/** A source after a transfer: it has a new owner or, if `offer` is set, keeps its owner until a member accepts. */
export type Transferred = { source: Source; offer: Offer | null };

/** `toFollower`: whether the hub chose a follower as receiver; the sender must not learn the follower's name. */
type Receiver = { account: Account; toFollower: boolean };

/**
 * Gives a source to the account with this name: an administrator becomes the owner at once, so that everybody can leave
 * the hub; a member receives an offer. Throws 422 for an unknown name.
 */
export function transferSource(hub: Hub, id: number, username: string, by: By): Promise<Transferred> {
  return giveSource(hub, id, by, () => {
    const account = accounts(hub).findByName(username);
    if (!account || account.disabledAt !== null) throw refused(422, 'There is no active account with this name.');
    return { account, toFollower: false };
  });
}

/** To the person who has followed the source longest, of those not asked in 90 days; throws 409 if there is none. */
export function handOverSource(hub: Hub, id: number, by: By): Promise<Transferred> {
  return giveSource(hub, id, by, (source) => {
    const asked = offers(hub).askedFor(id);
    const followers = countFollowers(hub, source) > 0 ? follows(hub).others(id, source.ownerId) : [];
    const account = followers.values().filter((follower) => !asked.has(follower))
      .map((follower) => accounts(hub).find(follower)).find((found) => found?.disabledAt === null);
    if (!account) throw new HttpError(409, 'It has no follower who could be asked.');
    return { account, toFollower: true };
  });
}

async function giveSource(
  hub: Hub, id: number, by: By, choose: (source: Source) => Receiver,
): Promise<Transferred> {
  const found = manageableSource(hub, id, by.viewer);
  takeTurn(hub, GIVE_LIMIT, String(by.viewer.id));
  const { account, toFollower } = choose(found);
  const check = (): Source => requireMayGive(hub, id, account, by);
  if (account.role !== 'admin') {
    return hub.db.write('offer source', () => offerSource(hub, check(), { account, toFollower }, by));
  }
  return { source: await changeOwner(hub, { sourceId: id, ownerId: account.id, by }, check), offer: null };
}

function requireMayGive(hub: Hub, id: number, chosen: Account, by: By): Source {
  const source = manageableSource(hub, id, by.viewer);
  if (chosen.id === source.ownerId) throw refused(409, 'This account already owns the source.');
  const account = accounts(hub).find(chosen.id);
  if (account?.role === chosen.role && account.disabledAt === null) return source;
  throw refused(409, 'This account was changed just now. Please try again.');
}

function offerSource(hub: Hub, source: Source, { account, toFollower }: Receiver, by: By): Transferred {
  const { id, title } = source;
  if (offers(hub).ofSource(id)) {
    throw refused(409, 'Withdraw its open offer first.');
  }
  if (offers(hub).countSent(by.viewer.id) >= OPEN_MAX) {
    throw metLimit(hub, 'offers-open', 0, `You may have at most ${OPEN_MAX} open offers. Withdraw one, or wait.`);
  }
  forgetOffered(hub, id); // removes the notification of an offer that has just expired
  const offer = offers(hub).add({
    sourceId: id, senderId: by.viewer.id, receiverId: account.id, toFollower: toFollower ? 1 : 0,
  });
  audit(hub, 'source.offered', by, { kind: 'source', id, name: title }, toFollower ? {} : { to: account.id });
  const event = { kind: 'source.offered' };
  notifications(hub).add({
    ...event, accountId: account.id, senderId: by.viewer.id,
    title: `“${title}” is offered to you`, path: offersPath(id),
  });
  for (const accountId of new Set([by.viewer.id, source.ownerId])) {
    const told = `“${title}” is offered to someone; nothing changes until they accept`;
    notifications(hub).add({ ...event, accountId, title: told, path: `/sources/${id}` });
  }
  return { source, offer };
}

type OwnerChange = { sourceId: number; ownerId: number; by: By; offer?: Offer };

/** Also notifies both owners, the offer's sender and the followers. `check` runs in the transaction, and may throw. */
export function changeOwner(
  hub: Hub, { sourceId, ownerId, by, offer }: OwnerChange, check: (source: Source) => void,
): Promise<Source> {
  return changingReaders(hub, { name: 'transfer source', sourceId, accountId: by.viewer.id }, () => {
    const source = sources(hub).find(sourceId);
    if (!source) throw notFound('source');
    check(source);
    sources(hub).setOwner(sourceId, ownerId);
    settleSourceNow(hub, sourceId);
    // The audit log stores ids, because the previous and the new owner may delete their accounts later.
    const detail = { from: source.ownerId, to: ownerId, ...(offer && { offer: offer.id }) };
    audit(hub, 'source.transferred', by, { kind: 'source', id: sourceId, name: source.title }, detail);
    forgetOffered(hub, sourceId);
    notifyTransferred(hub, source, ownerId, offer?.senderId ?? source.ownerId);
    const given = sources(hub).find(sourceId) ?? source;
    tellFollowers(hub, 'source.new-owner', source, given, [ownerId]);
    return given;
  });
}

function notifyTransferred(hub: Hub, source: Source, newOwnerId: number, senderId: number): void {
  const { id, title, kind, ownerId } = source;
  const advice = kind === 'webhook' ? '. Create a new secret: the previous owner knows the current secret' : '';
  const event = 'source.transferred';
  const tell = (accountId: number, whose: string, path: string): void =>
    notifications(hub).add({ accountId, senderId, kind: event, title: `“${title}” now belongs to ${whose}`, path });
  for (const accountId of new Set([ownerId, senderId])) tell(accountId, 'someone else', '/sources');
  tell(newOwnerId, `you${advice}`, `/sources/${id}`);
}

function refused(status: 409 | 422, detail: string): HttpError {
  const errors = [{ pointer: '/username', detail }];
  return status === 422 ? invalid(errors) : new HttpError(status, detail, { errors });
}
