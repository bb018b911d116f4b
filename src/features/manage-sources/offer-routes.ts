import { isoTime } from '../../platform/clock.ts';
import { nextLink, pathId, readPage } from '../../platform/http/input.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { acceptOffer, declineOffer, withdrawOffer } from './answer-offer.ts';
import { offers, type Offer } from './offer-store.ts';

export function listOffers(hub: Hub, { viewer, path, query }: MemberRequest): Reply {
  const { items, next } = readPage<Offer, 'id'>(query, ['id'], (after, limit) =>
    offers(hub).openOf(viewer.id, after?.id ?? 0, limit));
  return json({ items: items.map((offer) => offerJson(offer, viewer.id)), next }, 200, nextLink(path, query, next));
}

export async function acceptOfferJson(hub: Hub, req: MemberRequest): Promise<Reply> {
  await acceptOffer(hub, pathId(req.params), req);
  return noContent();
}

export function declineOfferJson(hub: Hub, req: MemberRequest): Reply {
  declineOffer(hub, pathId(req.params), req);
  return noContent();
}

export function withdrawOfferJson(hub: Hub, req: MemberRequest): Reply {
  withdrawOffer(hub, pathId(req.params), req);
  return noContent();
}

/** A source's offer to a new owner, for its sender. `to`, the receiver, is null if the hub chose the receiver. */
export function sentOfferJson({ id, sourceId, title, receiverId, receiver, toFollower, expiresAt }: Offer) {
  const to = toFollower ? null : { id: receiverId, displayName: receiver };
  return { id, source: { id: sourceId, title }, to, expiresAt: isoTime(expiresAt) };
}

/** An offer as the API lists it for its sender or its receiver. */
export function offerJson(offer: Offer, viewerId: number) {
  const isReceived = offer.receiverId === viewerId;
  const { receiverId, receiver, senderId, sender, offeredAt } = offer;
  return {
    ...sentOfferJson(offer),
    ...(isReceived && { to: { id: receiverId, displayName: receiver } }),
    direction: isReceived ? 'received' : 'sent',
    from: { id: senderId, displayName: sender },
    offeredAt: isoTime(offeredAt),
  };
}
