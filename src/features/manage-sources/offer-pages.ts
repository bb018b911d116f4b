import { pathId, readPage } from '../../platform/http/input.ts';
import { HttpError, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { acceptOffer, declineOffer, withdrawOffer } from './answer-offer.ts';
import { offers, type Offer } from './offer-store.ts';
import { offersPage } from './offer-views.ts';

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

/** Form: accepts an offer of a source; if the hub refuses, shows the offers again with the reason. */
export async function submitAccept(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  try {
    const source = await acceptOffer(hub, id, req);
    return seeOther(saying(`/sources/${source.id}`, 'offer-accepted'));
  } catch (problem) {
    if (!(problem instanceof HttpError) || ![409, 422].includes(problem.status)) throw problem;
    return showOffers(hub, req, problem, id);
  }
}

export function submitDecline(hub: Hub, req: MemberRequest): Reply {
  declineOffer(hub, pathId(req.params), req);
  return seeOther(saying('/offers', 'offer-declined'));
}

export function submitWithdraw(hub: Hub, req: MemberRequest): Reply {
  const { sourceId } = withdrawOffer(hub, pathId(req.params), req);
  return seeOther(saying(`/sources/${sourceId}`, 'offer-withdrawn'));
}
