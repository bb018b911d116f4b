import { byteSize } from '../../platform/in-words.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { bytesLeft } from '../attachments/receive-upload.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { posts } from '../posts/post-store.ts';
import { fitsContentQuota } from '../sources/content-quota.ts';
import { mayManage, sources, type Source } from '../sources/source-store.ts';
import { sourcesLeft, tooManySources } from './add-source.ts';
import { changeOwner } from './give-source.ts';
import { offers, type Offer } from './offer-store.ts';
import { forgetOffered } from './tell-followers.ts';

function openOffer(hub: Hub, id: number, mayAnswer: (offer: Offer) => boolean): Offer {
  const offer = offers(hub).find(id);
  if (offer && mayAnswer(offer)) return offer;
  if (!offer && offers(hub).wasMade(id)) throw new HttpError(410, 'This offer has ended.');
  throw notFound('offer');
}

/** True, or throws: 410 for an offer that has ended, 404 for one that the viewer may neither answer nor withdraw. */
export function isOfferOf(hub: Hub, id: number, viewer: Viewer): boolean {
  return openOffer(hub, id, (offer) => offer.receiverId === viewer.id || mayWithdraw(hub, offer, viewer)) !== undefined;
}

function mayWithdraw(hub: Hub, { sourceId }: Offer, viewer: Viewer): boolean {
  const source = sources(hub).find(sourceId);
  return source !== undefined && mayManage(source, viewer);
}

function receivedOffer(hub: Hub, id: number, viewer: Viewer): Offer {
  return openOffer(hub, id, ({ receiverId }) => receiverId === viewer.id);
}

/** Makes the viewer the owner of an offered source. */
export function acceptOffer(hub: Hub, id: number, by: By): Promise<Source> {
  const offer = receivedOffer(hub, id, by.viewer);
  return changeOwner(hub, { sourceId: offer.sourceId, ownerId: by.viewer.id, by, offer }, (source) => {
    receivedOffer(hub, id, by.viewer); // checked again, because it may have ended
    requireRoom(hub, source, by.viewer);
  });
}

function requireRoom(hub: Hub, source: Source, { id, role }: Viewer): void {
  if (role === 'admin') return;
  const same = source.feedUrl === null ? undefined : sources(hub).idOfFeed(source.feedUrl, id);
  if (same !== undefined) {
    throw new HttpError(409, 'You already have a source of the same feed.', { members: { sourceId: same } });
  }
  if (sourcesLeft(hub, id) === 0) throw tooManySources(hub);
  if (!fitsContentQuota(hub, source.id, id)) {
    throw new HttpError(422, 'The source’s posts do not fit into your space for contents. Delete posts first.');
  }
  const bytes = posts(hub).fileBytes(source);
  const missing = bytes - bytesLeft(hub, id);
  if (bytes === 0 || missing <= 0) return;
  const detail = `The source’s files do not fit into your space for files: ${byteSize(missing)} are missing.`;
  throw new HttpError(422, detail, { members: { bytesMissing: missing } });
}

/** Notifies the offer's sender and the source's owner. */
export function declineOffer(hub: Hub, id: number, by: By): void {
  hub.db.write('decline offer', () => {
    const offer = receivedOffer(hub, id, by.viewer);
    offers(hub).end(id);
    forgetOffered(hub, offer.sourceId);
    audit(hub, 'source.offer-declined', by, targetOf(offer), { offer: id });
    tellSenders(hub, offer, 'source.offer-declined', 'was declined');
  });
}

/** Withdraws an offer of a source that the viewer may manage. */
export function withdrawOffer(hub: Hub, id: number, by: By): Offer {
  return hub.db.write('withdraw offer', () => {
    const offer = openOffer(hub, id, (one) => mayWithdraw(hub, one, by.viewer));
    offers(hub).remove(id);
    forgetOffered(hub, offer.sourceId);
    audit(hub, 'source.offer-withdrawn', by, targetOf(offer), { offer: id });
    return offer;
  });
}

/** Ends up to `limit` expired offers, in the caller's transaction; returns the number of ended offers. */
export function endExpiredOffers(hub: Hub, limit: number): number {
  const expired = offers(hub).expired(limit);
  for (const offer of expired) {
    offers(hub).end(offer.id);
    // If the source has been offered again, the notification of the newer offer stays.
    if (!offers(hub).ofSource(offer.sourceId)) forgetOffered(hub, offer.sourceId);
    tellSenders(hub, offer, 'source.offer-expired', 'has expired without an answer');
  }
  return expired.length;
}

function targetOf({ sourceId, title }: Offer) {
  return { kind: 'source', id: sourceId, name: title };
}

function tellSenders(hub: Hub, { sourceId, senderId, title }: Offer, kind: string, happened: string): void {
  const ownerId = sources(hub).find(sourceId)?.ownerId ?? senderId;
  for (const accountId of new Set([senderId, ownerId])) {
    const told = `The offer of “${title}” ${happened}`;
    notifications(hub).add({ accountId, kind, title: told, path: `/sources/${sourceId}` });
  }
}
