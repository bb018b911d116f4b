import { choice, id, madeOf, named, noted, object, orNull, text, time } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { postButton } from '../../platform/http/page-parts.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { plural } from '../../platform/in-words.ts';
import type { RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { pagedList } from '../hub/lists.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { offers, type Offer } from './offer-store.ts';
import { PARTY } from './source-json.ts';

const SENT = {
  id, source: object({ id, title: text }),
  to: noted(orNull(PARTY), 'The receiver of the offered source; null if the hub chose the receiver'), expiresAt: time,
};

/** The members of an offer for its sender or its receiver. */
export const OFFER_MEMBERS = { ...SENT, direction: choice(['received', 'sent']), from: PARTY, offeredAt: time };

/** An offer for its sender. */
export const SENT_OFFER = named('SentOffer', madeOf(object(SENT), (offer: Offer) => offerFor(offer, offer.senderId)));

const OFFER = named('Offer', madeOf(object(OFFER_MEMBERS), ({ viewerId, ...offer }: Offer & { viewerId: number }) =>
  offerFor(offer, viewerId)));

export function offerFor({ sourceId, title, ...offer }: Offer, viewerId: number) {
  const isReceived = offer.receiverId === viewerId;
  const to = { id: offer.receiverId, displayName: offer.receiver };
  return {
    ...offer,
    source: { id: sourceId, title },
    to: offer.toFollower && !isReceived ? null : to,
    direction: isReceived ? 'received' as const : 'sent' as const,
    from: { id: offer.senderId, displayName: offer.sender },
  };
}

export const offerList = pagedList<Offer & { viewerId: number }, 'id'>({
  access: 'member',
  api: '/api/offers',
  page: '/offers',
  title: 'Offers',
  summary: 'Open offers of sources that you have received and sent',
  section: 'sources',
  key: ['id'],
  select: (hub, { req: { viewer }, after, limit }) =>
    offers(hub).openOf(viewer.id, after?.id ?? 0, limit).map((offer) => ({ ...offer, viewerId: viewer.id })),
  shape: OFFER,
  lead: () => html`
<p class="hint">Nothing changes until an offer is accepted. Then the source belongs to its new owner, with all its posts
  and files.</p>`,
  rows: offerRows,
  empty: 'You have no open offers.',
  more: 'More offers',
});

/** The page again, with the reason why the viewer could not accept an offer. */
export function showOffersAgain(hub: Hub, req: MemberRequest, { problem }: RefusedForm): Reply {
  const offer = offers(hub).find(pathId(req.params));
  const above = html`<p class="problem" role="alert">“<bdi>${offer?.title}</bdi>”: ${problem.message}</p>`;
  return offerList.showPage(hub, req, { above, status: problem.status });
}

function offerRows(items: Offer[], times: Times, hub: Hub, { viewer }: MemberRequest): Html {
  const received = items.filter(({ receiverId }) => receiverId === viewer.id);
  const sent = items.filter(({ receiverId }) => receiverId !== viewer.id);
  return html`
${received.length > 0 && html`<h2>Offered to you</h2><ul class="items">${received.map((offer) =>
  receivedItem(offer, maySeeSource(hub, offer.sourceId, viewer), times))}</ul>`}
${sent.length > 0 && html`<h2>Offered by you</h2><ul class="items">${sent.map((offer) =>
  sentItem(offer, times))}</ul>`}`;
}

function receivedItem(offer: Offer, maySee: boolean, times: Times): Html {
  const { id, sourceId, title, sender, expiresAt } = offer;
  return html`
  <li id="source-${sourceId}"><div>${titleOf(offer, maySee)}
    <p class="hint">from <bdi>${sender}</bdi>, open until ${showTime(times, expiresAt)}</p></div>
    <div class="actions">${postButton(`/offers/${id}/accept`, 'Accept', 'primary', `Accept ${title}`)}
    ${postButton(`/offers/${id}/decline`, 'Decline', 'secondary', `Decline ${title}`)}</div></li>`;
}

function sentItem(offer: Offer, times: Times): Html {
  return html`
  <li><div>${titleOf(offer, true)}
    <p class="hint">to ${receiverOf(offer)}, open until ${showTime(times, offer.expiresAt)}</p></div>
    ${withdrawForm(offer)}</li>`;
}

function titleOf({ sourceId, title }: Offer, isLink: boolean): Html {
  const shown = html`<span dir="auto">${title}</span>`;
  return isLink ? html`<a class="title" href="/sources/${sourceId}">${shown}</a>`
    : html`<span class="title">${shown}</span>`;
}

function receiverOf({ toFollower, receiver }: Offer): Html {
  return toFollower ? html`the person who has followed it longest` : html`<bdi>${receiver}</bdi>`;
}

function withdrawForm({ id, title }: Offer): Html {
  return postButton(`/offers/${id}/withdraw`, 'Withdraw', 'secondary', `Withdraw the offer of ${title}`);
}

/** The notice of a source's open offer, for those who may manage it. */
export function offerNotice(offer: Offer, times: Times): Html {
  return html`<div class="said"><span>Offered to ${receiverOf(offer)} until ${
    showTime(times, offer.expiresAt)}. Nothing changes until it is accepted.</span>${withdrawForm(offer)}</div>`;
}

/** The notice of how many sources are offered to a member; false without any. */
export function offeredNotice(offered: number): Html | false {
  return offered > 0 && html`<p class="said"><span>You are offered ${plural(offered, 'source')}.</span>
<a class="button" href="/offers">See offers</a></p>`;
}
