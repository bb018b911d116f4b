import { hasPassed, SECOND } from '../../platform/clock.ts';
import { readBody } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { bufferedCounts, type Hub } from '../hub/hub.ts';
import { countRefusal } from './note-deliveries.ts';
import { receiveEvent, secretsOf, type IncomingEvent } from './receive-event.ts';

const EVENT_LIMIT = 1024 * 1024; // bytes

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

export const NO_STORE = { 'cache-control': 'no-store' };

/** API: receives an event, and stores it on the disk before the reply. */
export async function receiveWebhookEvent(hub: Hub, req: HubRequest): Promise<Reply> {
  try {
    await receiveEvent(hub, await readIncoming(hub, req));
    return json({ accepted: true }, 202, NO_STORE);
  } catch (error) {
    const isRefusal = error instanceof HttpError && (error.status < 500 || error.status === 507);
    if (isRefusal) bufferedCounts(hub).add('webhook_events_total', 'rejected');
    if (isRefusal) countRefusal(hub, pathId(req.params), error);
    throw error;
  }
}

async function readIncoming(hub: Hub, req: HubRequest): Promise<IncomingEvent> {
  const sourceId = pathId(req.params);
  const [secrets, begun] = [secretsOf(hub, sourceId), hub.clock()];
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    throw new HttpError(415, 'An event must be application/json.', { headers: { accept: 'application/json' } });
  }
  const body = await readBody(req, EVENT_LIMIT);
  const isQuick = !hasPassed(begun, SECOND, hub.clock()); // else the secrets may have been replaced meanwhile
  const headerType = req.headers['x-github-event'];
  return {
    sourceId, body, secrets: isQuick ? secrets : secretsOf(hub, sourceId), rawHeaders: req.stream.rawHeaders,
    headerType: typeof headerType === 'string' ? headerType : null,
  };
}
