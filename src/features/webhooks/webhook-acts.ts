import { anything, flag, named, noted, object, text, time } from '../../platform/http/fields.ts';
import { pathId } from '../../platform/http/input.ts';
import { page } from '../../platform/http/reply.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { manageableSource } from '../sources/source-store.ts';
import { rotateSecret } from './manage-webhooks.ts';
import { newSecretPage } from './webhook-pages.ts';
import { NO_STORE, receiveWebhookEvent } from './webhook-routes.ts';

const WEBHOOK_ACCESS = named('WebhookAccess', object({ webhook: object({ url: text, secret: text }) }));

const EVENT = named('WebhookEvent', object({
  type: noted(text, 'post.published, post.updated, post.deleted; other events change no post'),
  timestamp: noted(time, 'When it happened; of several events of a post, the latest counts'),
  data: noted(anything, 'An item of JSON Feed 1.1; for post.deleted only the item’s id'),
}));

export const WEBHOOK_ROUTES: Endpoint[] = [
  {
    pattern: 'POST /api/webhooks/:id', access: 'public',
    summary: 'A signed event (Standard Webhooks 1.0, or GitHub’s form)',
    handler: receiveWebhookEvent, settings: { checksBearer: true }, // only the signature proves the sender
    operation: {
      body: { 'application/json': EVENT.schema },
      answers: { 202: { 'application/json': object({ accepted: flag }).schema } },
      refusals: [401, 410, 429, 503, 507], proof: 'signature',
    },
  },
  ...act({
    api: 'POST /api/sources/:id/webhook/rotate', form: 'POST /sources/:id/webhook/rotate',
    summary: 'Make a new webhook secret',
    run: (hub, _given, req) => {
      const source = manageableSource(hub, pathId(req.params), req.viewer);
      return { source, webhook: rotateSecret(hub, source, req) };
    },
    shapes: { 200: WEBHOOK_ACCESS }, reply: ({ webhook }) => [200, { webhook }, NO_STORE], refusals: [409],
    next: ({ source, webhook }) => page(newSecretPage(source, webhook), 200, NO_STORE),
  }),
];
