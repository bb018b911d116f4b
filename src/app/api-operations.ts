import {
  anything, choice, flag, integer, listOf, named, object, orNull, text, visibility, type Schema,
} from './api-schemas.ts';

type Content = Readonly<Record<string, Schema>>;

/** An API operation without its route. `refusals`: error statuses that neither the route nor another field implies. */
export type ApiOperation = {
  query?: Record<string, Schema>;
  body?: Content;
  /** The bodies of all responses but refusals, by status code; null: no body. */
  answers: Record<number, Content | null>;
  refusals?: number[];
  /** What the operation requires if not a session or an API token. `session`: a token is not enough. */
  proof?: 'none' | 'session' | 'metrics' | 'signature';
};

const SHORT = { ...integer, minimum: 1, maximum: 100, default: 30 };
const PAGE = { limit: SHORT, cursor: { ...text, description: 'The value of `next` on the previous page' } };

const as = (mediaType: string, schema: Schema = text): Content => ({ [mediaType]: schema });
const json = (schema: Schema): Content => as('application/json', schema);
const done = (name: string): Record<number, Content> => ({ 200: json(named(name)) });
const created = (name: string): Record<number, Content> => ({ 201: json(named(name)) });
const NOTHING = { 204: null };
const UNCHANGED = { 304: null };

const list = (name: string, query: Record<string, Schema> = {}): ApiOperation =>
  ({ query: { ...PAGE, ...query }, answers: { 200: json(listOf(name)) } });

const PASSWORD = { ...text, format: 'password' };
const FULL_TEXT_OF_SOURCE = {
  fullText: choice(['asked', 'always']),
  fullTextOfLast: { ...flag, description: 'Whether to fetch the full texts of the last 20 posts now' },
};

const TITLED = { title: text, visibility };
const AT_PUBLISHER = { username: orNull(text), password: orNull(PASSWORD) };
/** Replies to the transfer of a source: 200 with the source if its owner has changed, 202 with the offer otherwise. */
const TRANSFERRED = { ...done('Source'), 202: json(object({ offer: named('SentOffer') })) };

/** The operations of the API by their routes. A PUT or DELETE route that is not in API answers 204 without a body. */
export const API: Readonly<Record<string, ApiOperation>> = {

  'GET /api/sources': { ...list('Source'), answers: { 200: json(listOf('Source')), ...UNCHANGED } },
  'POST /api/sources': {
    body: json({ anyOf: [
      object({ kind: choice(['feed']), url: { ...text, description: 'A feed, or a web page that links to a feed' } }, {
        ...TITLED, ...AT_PUBLISHER, folder: text,
      }),
      object({ kind: choice(['webhook', 'native']), title: text }, { visibility, folder: text }),
    ] }),
    answers: { ...done('Source'), ...created('Source') }, refusals: [409, 429],
  },
  'GET /api/sources.opml': { answers: { 200: as('text/x-opml') } },
  'POST /api/sources/import': {
    query: { visibility: { ...visibility, default: 'public' } },
    body: { ...as('text/x-opml'), ...as('application/xml') }, answers: done('Imported'),
  },
  'GET /api/sources/:id': { answers: { ...done('Source'), ...UNCHANGED } },
  'PATCH /api/sources/:id': {
    body: json(object({}, {
      ...TITLED, ...AT_PUBLISHER, paused: flag, url: text, showsAuthors: flag, ...FULL_TEXT_OF_SOURCE,
    })),
    answers: done('Source'),
    refusals: [409, 429, 503],
  },
  'POST /api/sources/:id/sync': { answers: { 202: json(named('Source')) }, refusals: [409, 429] },
  'POST /api/sources/:id/transfer': {
    body: json(object({ username: text })), answers: TRANSFERRED, refusals: [409, 429, 503],
  },
  'POST /api/sources/:id/hand-over': { answers: TRANSFERRED, refusals: [409, 422, 429, 503] },
  'GET /api/offers': list('Offer'),
  'POST /api/offers/:id/accept': { answers: NOTHING, refusals: [409, 410, 422, 503] },
  'POST /api/offers/:id/decline': { answers: NOTHING, refusals: [410] },
  'DELETE /api/offers/:id': { answers: NOTHING, refusals: [410] },
  'POST /api/sources/:id/webhook/rotate': { answers: done('WebhookAccess'), refusals: [409] },

  'POST /api/webhooks/:id': {
    body: json(named('WebhookEvent')), answers: { 202: json(object({ accepted: flag })) },
    refusals: [401, 410, 429, 503, 507], proof: 'signature',
  },
  'GET /api/openapi.json': { answers: { 200: json(anything), ...UNCHANGED }, proof: 'none' },

  'GET /api/admin/accounts/:id': { answers: done('ListedAccount') },
};
