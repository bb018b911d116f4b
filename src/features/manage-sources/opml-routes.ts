import { readBody } from '../../platform/http/body.ts';
import { array, choice, integer, named, noted, object, text } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { decodingText } from '../../platform/markup/decode-text.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import type { Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { VISIBILITIES } from '../sources/source-store.ts';
import { importOpml, OPML_LIMIT } from './import-opml.ts';
import { exportOpml } from './opml.ts';

const OPML_TYPES = /^(text\/x-opml(\+xml)?|application\/xml|text\/xml|application\/octet-stream)\b/i;

const IMPORTED = named('Imported', object({
  added: integer, alreadyFollowed: integer, leftOut: integer, refused: array(object({ url: text, reason: text })),
}));

export const OPML_ROUTES: Endpoint[] = [
  {
    pattern: 'GET /api/sources.opml', access: 'member', summary: 'Your feeds as OPML 2.0', handler: downloadOpml,
    operation: { answers: { 200: { 'text/x-opml': text.schema } } },
  },
  {
    pattern: 'POST /api/sources/import', access: 'member', summary: 'Add the feeds of an OPML document',
    handler: importDocument,
    operation: {
      query: { visibility: noted(choice(VISIBILITIES), { default: 'public' }).schema },
      body: { 'text/x-opml': text.schema, 'application/xml': text.schema },
      answers: { 200: { 'application/json': IMPORTED.schema } },
    },
  },
];

function downloadOpml(hub: Hub, { viewer }: MemberRequest): Reply {
  const headers = {
    'content-type': 'text/x-opml; charset=utf-8', 'content-disposition': 'attachment; filename="content-hub.opml"',
    'cache-control': 'no-store', // the addresses of feeds may contain secrets
  };
  return { status: 200, headers, body: exportOpml(hub, viewer.id) };
}

async function importDocument(hub: Hub, req: MemberRequest): Promise<Reply> {
  const wanted = req.query.get('visibility') ?? 'public';
  const visibility = VISIBILITIES.find((one) => one === wanted);
  if (!visibility) throw new HttpError(400, `visibility must be one of ${VISIBILITIES.join(', ')}.`);
  const contentType = req.headers['content-type'] ?? '';
  if (!OPML_TYPES.test(contentType)) {
    throw new HttpError(415, 'The body must be an OPML document, as text/x-opml or application/xml.');
  }
  const document = await inSteps(decodingText(await readBody(req, OPML_LIMIT), contentType));
  return json(IMPORTED.show(await importOpml(hub, document, visibility, req)));
}
