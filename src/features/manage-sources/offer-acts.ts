import { isoTime } from '../../platform/clock.ts';
import {
  choice, id, listOf, named, noted, object, orNull, PAGE, ready, text, time, type Shown,
} from '../../platform/http/fields.ts';
import { pathId, readPage } from '../../platform/http/input.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { acceptOffer, declineOffer, withdrawOffer } from './answer-offer.ts';
import { showOffers } from './offer-pages.ts';
import { offers, type Offer } from './offer-store.ts';
import { PARTY } from './source-json.ts';

const SENT = {
  id, source: object({ id, title: text }),
  to: noted(orNull(PARTY), 'The receiver of the offered source; null if the hub chose the receiver'), expiresAt: time,
};

export const SENT_OFFER = named('SentOffer', object(SENT));

const OFFER = named('Offer', object({
  ...SENT, direction: choice(['received', 'sent']), from: PARTY, offeredAt: time,
}));

/** An offer for its sender. */
export function sentOfferJson(
  { id, sourceId, title, receiverId, receiver, toFollower, expiresAt }: Offer,
): Shown<typeof SENT_OFFER> {
  const to = toFollower ? null : { id: receiverId, displayName: receiver };
  return { id, source: { id: sourceId, title }, to, expiresAt: isoTime(expiresAt) };
}

/** An offer for its sender or its receiver, in the API and in the export. */
export function offerJson(offer: Offer, viewerId: number): Shown<typeof OFFER> {
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

const DECLINE = { summary: 'Decline a source that is offered to you', run: byId(declineOffer) };

export const OFFER_ROUTES: Endpoint[] = [
  view('GET /api/offers', {
    summary: 'Open offers of sources that you have received and sent', query: PAGE,
  }, listOf(ready(OFFER)), (hub, { viewer, query }) => {
    const { items, next } = readPage<Offer, 'id'>(query, ['id'], (after, limit) =>
      offers(hub).openOf(viewer.id, after?.id ?? 0, limit));
    return { items: items.map((offer) => offerJson(offer, viewer.id)), next };
  }),
  ...act({
    api: 'POST /api/offers/:id/accept', form: 'POST /offers/:id/accept',
    summary: 'Accept a source that is offered to you',
    run: byId(acceptOffer), refusals: [409, 410, 422, 503],
    next: ({ id: sourceId }) => saying(`/sources/${sourceId}`, 'offer-accepted'),
    again: (hub, req, { problem }) => showOffers(hub, req, problem, pathId(req.params)), againFor: [409, 422],
  }),
  ...act({ api: 'POST /api/offers/:id/decline', ...DECLINE, refusals: [410] }),
  ...act({ form: 'POST /offers/:id/decline', ...DECLINE, usesReserve: true, to: saying('/offers', 'offer-declined') }),
  ...act({
    api: 'DELETE /api/offers/:id', form: 'POST /offers/:id/withdraw', summary: 'Withdraw the offer of a source',
    run: byId(withdrawOffer), usesReserve: true, refusals: [410],
    next: ({ sourceId }) => saying(`/sources/${sourceId}`, 'offer-withdrawn'),
  }),
];
