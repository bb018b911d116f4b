import { readBody } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { actorOf } from '../audit/audit.ts';
import type { ManagingWebhooks, WebhookAccess, WebhookSource } from './manage-webhooks.ts';
import type { ReceivingEvents } from './receive-event.ts';
import { rotatedSecretPage } from './webhook-views.ts';

const EVENT_LIMIT = 1024 * 1024; // bytes

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

const NO_STORE = { 'cache-control': 'no-store' };

export type WebhookRouteDeps = {
  receiving: ReceivingEvents;
  managing: ManagingWebhooks;
  /** The source, for those who may change it; given by app. */
  manageableSource(id: number, viewer: Viewer): WebhookSource;
};

export function webhookRoutes({ receiving, managing, manageableSource }: WebhookRouteDeps): Route[] {
  return [
    route(
      'POST /api/webhooks/:id', 'public', 'A signed event (Standard Webhooks 1.0, or GitHub’s form)', receiveEvent,
      { checksBearer: true }, // the signature says who sends, and nothing else does
    ),
    route('POST /api/sources/:id/webhook/rotate', 'member', 'A new webhook secret', rotateSecret),
    route('POST /sources/:id/webhook/rotate', 'member', 'Form: a new webhook secret', showNewSecret),
  ];

  async function receiveEvent(req: HubRequest): Promise<Reply> {
    try {
      await receive(req);
      return json({ accepted: true }, 202, NO_STORE);
    } catch (error) {
      receiving.noteRefusal(error);
      throw error;
    }
  }

  async function receive(req: HubRequest): Promise<void> {
    const sourceId = pathId(req.params);
    if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
      throw new HttpError(415, 'An event must be application/json.', { headers: { accept: 'application/json' } });
    }
    const body = await readBody(req, EVENT_LIMIT);
    const headerType = req.headers['x-github-event'];
    await receiving.receive({
      sourceId, body, rawHeaders: req.stream.rawHeaders, headerType: typeof headerType === 'string' ? headerType : null,
    });
  }

  function rotateSecret(req: MemberRequest): Reply {
    const { access } = rotate(req);
    return json({ webhook: access }, 200, NO_STORE);
  }

  function showNewSecret(req: MemberRequest): Reply {
    const { source, access } = rotate(req);
    return page(rotatedSecretPage(source, access), 200, NO_STORE);
  }

  function rotate(req: MemberRequest): { source: WebhookSource; access: WebhookAccess } {
    const source = manageableSource(pathId(req.params), req.viewer);
    return { source, access: managing.rotate(source, actorOf(req)) };
  }
}
