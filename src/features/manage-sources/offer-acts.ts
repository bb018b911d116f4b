import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { acceptOffer, declineOffer, withdrawOffer } from './answer-offer.ts';
import { offerList, showOffersAgain } from './offer-list.ts';

const DECLINE = { summary: 'Decline a source that is offered to you', run: byId(declineOffer) };

export const OFFER_ROUTES: Endpoint[] = [
  ...offerList.routes,
  ...act({
    api: 'POST /api/offers/:id/accept', form: 'POST /offers/:id/accept',
    summary: 'Accept a source that is offered to you',
    run: byId(acceptOffer), refusals: [409, 410, 422, 503],
    next: ({ id: sourceId }) => saying(`/sources/${sourceId}`, 'offer-accepted'),
    again: showOffersAgain, againFor: [409, 422],
  }),
  ...act({ api: 'POST /api/offers/:id/decline', ...DECLINE, refusals: [410] }),
  ...act({ form: 'POST /offers/:id/decline', ...DECLINE, usesReserve: true, to: saying('/offers', 'offer-declined') }),
  ...act({
    api: 'DELETE /api/offers/:id', form: 'POST /offers/:id/withdraw', summary: 'Withdraw the offer of a source',
    run: byId(withdrawOffer), usesReserve: true, refusals: [410],
    next: ({ sourceId }) => saying(`/sources/${sourceId}`, 'offer-withdrawn'),
  }),
];
