import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { alertDeliveries, type AlertDelivery, type DeliveryState } from './alert-store.ts';
import { alertsPage } from './alert-views.ts';
import { describeReceiver } from './send-alert.ts';

const STATES: DeliveryState[] = ['failed', 'pending', 'delivered'];

export function listAlerts(hub: Hub, req: HubRequest): Reply {
  const { items, next } = readPage(hub, req, readState(req.query));
  return json({ items: items.map(deliveryJson), next }, 200, nextLink(req.path, req.query, next));
}

export function showAlerts(hub: Hub, req: HubRequest): Reply {
  const state = readState(req.query);
  return page(alertsPage({ ...readPage(hub, req, state), state, states: STATES, destination: describeReceiver(hub) }));
}

function readPage(hub: Hub, { query }: HubRequest, state: DeliveryState | undefined) {
  const limit = readLimit(query);
  const [before] = readCursor(query, 1) ?? [];
  const wanted = { ...(state ? { state } : {}), ...(before === undefined ? {} : { before }) };
  return pageOf(alertDeliveries(hub).list({ ...wanted, limit: limit + 1 }), limit, (last) => cursorOf(last.id));
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
