import { html, type Html } from '../../platform/http/html.ts';
import { readPage } from '../../platform/http/input.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { emptyText, nextPage, postButton, titledPage } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { plural } from '../../platform/in-words.ts';
import type { Hub } from '../hub/hub.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { offers, type Offer } from './offer-store.ts';

const PER_PAGE = 50;

/** Page: open offers of sources. `problem`: the reason why the viewer could not accept the offer `id`, shown first. */
export function showOffers(hub: Hub, { viewer, query }: MemberRequest, problem?: HttpError, id = 0): Reply {
  const { items, next } = readPage<Offer, 'id'>(query, ['id'], (after, limit) =>
    offers(hub).openOf(viewer.id, problem ? id - 1 : after?.id ?? 0, limit), PER_PAGE);
  const received = items.filter(({ receiverId }) => receiverId === viewer.id);
  const sent = items.filter(({ receiverId }) => receiverId !== viewer.id);
  const visible = new Set(received.map(({ sourceId }) => sourceId).filter((one) => maySeeSource(hub, one, viewer)));
  const refused = problem && { id, problem };
  return page(offersPage({ received, sent, next, visible, refused, times: timesOf(hub, viewer) }), problem?.status);
}

type ShownOffers = {
  received: Offer[]; sent: Offer[]; next: string | null; visible: Set<number>; times: Times;
  refused?: { id: number; problem: HttpError } | undefined;
};

function offersPage(shown: ShownOffers): Page {
  const { received, sent, next } = shown;
  const main = html`
<p class="hint">Nothing changes until an offer is accepted. Then the source belongs to its new owner, with all its posts
  and files.</p>
${received.length > 0 && html`<h2>Offered to you</h2><ul class="items">${
  received.map((offer) => receivedItem(offer, shown))}</ul>`}
${sent.length > 0 && html`<h2>Offered by you</h2><ul class="items">${sent.map((offer) => sentItem(offer, shown))}</ul>`}
${received.length + sent.length === 0 && emptyText('You have no open offers.')}
${nextPage(next && `/offers?cursor=${next}`, 'More offers')}`;
  return titledPage('Offers', main, { section: 'sources' });
}

function receivedItem(offer: Offer, { times, refused, visible }: ShownOffers): Html {
  const { id, sourceId, title, sender, expiresAt } = offer;
  const problem = refused?.id === id ? refused.problem : undefined;
  return html`
  <li id="source-${sourceId}"><div>${titleOf(offer, visible.has(sourceId))}
    <p class="hint">from <bdi>${sender}</bdi>, open until ${showTime(times, expiresAt)}</p>
    ${problem && html`<p class="fault" role="alert">${problem.message}</p>`}</div>
    <div class="actions"><form method="post" action="/offers/${id}/accept">
      <button class="primary" aria-label="Accept ${title}" ${problem && html`autofocus`}>Accept</button></form>
    ${postButton(`/offers/${id}/decline`, 'Decline', 'secondary', `Decline ${title}`)}</div></li>`;
}

function sentItem(offer: Offer, { times }: ShownOffers): Html {
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

/** The notice of a source's open offer, for those who may manage the source. */
export function offerNotice(offer: Offer, times: Times): Html {
  return html`<div class="said"><span>Offered to ${receiverOf(offer)} until ${
    showTime(times, offer.expiresAt)}. Nothing changes until it is accepted.</span>${withdrawForm(offer)}</div>`;
}

/** The notice of how many sources are offered to a member; false without any. */
export function offeredNotice(offered: number): Html | false {
  return offered > 0 && html`<p class="said"><span>You are offered ${plural(offered, 'source')}.</span>
<a class="button" href="/offers">See offers</a></p>`;
}
