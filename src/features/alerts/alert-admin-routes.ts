import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route } from '../../platform/http/router.ts';
import type { AlertDelivery, DeliveryQuery, DeliveryState } from './alert-delivery-store.ts';
import { alertsPage } from './alert-views.ts';

const STATES: DeliveryState[] = ['failed', 'pending', 'delivered'];

/** `destination`: scheme, host and port of the receiver; null without one. Never its whole address. */
export type AlertAdminDeps = { list(query: DeliveryQuery): AlertDelivery[]; destination: string | null };

/** Messages to the operator's receiver and what became of them, for administrators. */
export function alertAdminRoutes({ list, destination }: AlertAdminDeps): Route[] {
  return [
    route('GET /api/admin/alerts', 'admin', 'Alert deliveries, newest first; state shows those of one state', listAll),
    route('GET /admin/alerts', 'admin', 'Page: alert deliveries', show),
  ];

  function readPage({ query }: HubRequest, state: DeliveryState | undefined) {
    const limit = readLimit(query);
    const [before] = readCursor(query, 1) ?? [];
    const wanted = { ...(state ? { state } : {}), ...(before === undefined ? {} : { before }) };
    return pageOf(list({ ...wanted, limit: limit + 1 }), limit, (last) => cursorOf(last.id));
  }

  function listAll(req: HubRequest): Reply {
    const { items, next } = readPage(req, readState(req.query));
    return json({ items: items.map(deliveryJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: HubRequest): Reply {
    const state = readState(req.query);
    return page(alertsPage({ ...readPage(req, state), state, states: STATES, destination }));
  }
}

function readState(query: URLSearchParams): DeliveryState | undefined {
  const value = query.get('state') ?? '';
  const state = STATES.find((one) => one === value);
  if (value && !state) throw new HttpError(400, `state must be one of ${STATES.join(', ')}.`);
  return state;
}

/** A delivery as the API and the command line show it. */
export function deliveryJson({ createdAt, nextAt, finishedAt, ...delivery }: AlertDelivery) {
  return { ...delivery, createdAt: time(createdAt), nextAt: time(nextAt), finishedAt: time(finishedAt) };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
