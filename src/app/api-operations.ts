import { TOKEN_DAYS_MAX } from '../features/accounts/change-account.ts';
import { TOKEN_SCOPES } from '../features/accounts/credential-store.ts';
import { DISPLAY_NAME_MAX, INVITATION_HOURS } from '../features/accounts/join-hub.ts';
import { ALERT_STATES } from '../features/alerts/alert-store.ts';
import { AUDIT_EVENTS } from '../features/audit/audit.ts';
import { FOLDER_MAX } from '../features/follows/follow-store.ts';
import { EXPRESSION_MAX } from '../features/posts/expression.ts';
import { FORMATS } from '../features/posts/post-text-store.ts';
import { TITLE_MAX } from '../features/sources/source-store.ts';
import { JOB_STATES } from '../platform/jobs/job-records.ts';
import {
  anything, array, choice, flag, id, integer, listOf, named, object, orNull, role, text, time, type Schema,
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

const SEARCH_SYNTAX = 'A post must contain all words, "quoted words" as a phrase, and no -word. ' +
  'A word of three or more letters also matches longer words if it ends in a star or is the last word. ' +
  'The page /help/search explains OR, title:, author:, source:, in:, before:, after: and is:';

const SEARCHED_BACK_TO = {
  ...time,
  description: 'How far back a search looked, if not at all posts; `next`, unless null, searches on from there',
};

const as = (mediaType: string, schema: Schema = text): Content => ({ [mediaType]: schema });
const json = (schema: Schema): Content => as('application/json', schema);
const done = (name: string): Record<number, Content> => ({ 200: json(named(name)) });
const created = (name: string): Record<number, Content> => ({ 201: json(named(name)) });
const NOTHING = { 204: null };
const UNCHANGED = { 304: null };

const list = (name: string, query: Record<string, Schema> = {}): ApiOperation =>
  ({ query: { ...PAGE, ...query }, answers: { 200: json(listOf(name)) } });

function adminList(name: string, query: Record<string, Schema> = {}, others: Content = {}): ApiOperation {
  const formats = ['json', 'jsonl', ...Object.keys(others).map((type) => type.replace('text/', ''))];
  const description = 'json returns one page, other formats all matching rows; jsonl has one JSON object per line';
  return {
    query: { ...PAGE, ...query, format: { ...choice(formats), default: 'json', description } },
    answers: { 200: { ...json(listOf(name)), ...as('application/x-ndjson'), ...others } },
  };
}

const LOGIN = { username: text, password: { ...text, format: 'password' } };
const PASSWORD = LOGIN.password;
const LOOK = { name: text, text, hue: { ...integer, minimum: 0, maximum: 359 } };
const UPLOAD = [404, 409, 429, 503, 507];
const FILES = { attachments: array({ ...text, format: 'binary' }) };

function confirmed(
  answers: ApiOperation['answers'], required: Record<string, Schema> = {}, optional: Record<string, Schema> = {},
  refusals: number[] = [],
): ApiOperation {
  const body = json(object({ ...required, currentPassword: PASSWORD }, optional));
  return { body, answers, refusals: [...refusals, 429], proof: 'session' };
}

const FORMAT = { ...choice(FORMATS), default: 'text/plain' };
const POST = {
  title: text, content: text, contentType: FORMAT,
  url: orNull(text), publishedAt: time,
};
const EXPRESSION = { ...text, maxLength: EXPRESSION_MAX };
const LATER = {
  publishAt: { ...time, description: 'The hub publishes the post at this time, within a year, not at publishedAt' },
};
const UNSCHEDULE = {
  publishAt: { type: 'null', description: 'Alone in a request whose id is a draftId: ends the schedule of this draft' },
};
const NEW_POST = { sourceId: id, title: POST.title };

/** The operations of the API by their routes. A PUT or DELETE route that is not in API answers 204 without a body. */
export const API: Readonly<Record<string, ApiOperation>> = {
  'POST /api/accounts': {
    body: json(object({ invitation: text, ...LOGIN }, { displayName: { ...text, maxLength: DISPLAY_NAME_MAX } })),
    answers: created('Account'), refusals: [409, 410, 429], proof: 'none',
  },
  'POST /api/session': { body: json(object(LOGIN)), answers: done('Account'), refusals: [429], proof: 'none' },
  'DELETE /api/session': { answers: NOTHING, proof: 'session' },
  'GET /api/sessions': { answers: { 200: json(listOf('Session')) } },
  'DELETE /api/sessions': confirmed(NOTHING),
  'GET /api/sessions/:id': { answers: done('Session') },
  'DELETE /api/sessions/:id': confirmed(NOTHING),
  'GET /api/account': { answers: done('Account') },
  'PATCH /api/account': {
    body: json(object({}, { displayName: text, currentPassword: PASSWORD, newPassword: PASSWORD })),
    answers: done('Account'), refusals: [429],
  },
  'DELETE /api/account': {
    body: json(object({ password: PASSWORD, confirmation: { ...text, const: 'DELETE' } })),
    answers: NOTHING, refusals: [409, 429], proof: 'session',
  },
  'GET /api/account/export': { answers: done('AccountExport') },
  'GET /api/tokens': { answers: { 200: json(listOf('Token')) } },
  'POST /api/tokens': confirmed(created('NewToken'), { name: { ...text, maxLength: 80 } }, {
    scope: { ...choice(TOKEN_SCOPES), default: 'write' },
    expiresAt: time, days: { ...integer, minimum: 1, maximum: TOKEN_DAYS_MAX },
  }),

  'GET /api/invitations': adminList('Invitation'),
  'POST /api/invitations': confirmed(created('NewInvitation'), {}, {
    role, hours: { ...integer, minimum: 1, maximum: INVITATION_HOURS.max, default: INVITATION_HOURS.standard },
  }),

  'GET /api/notifications': list('Notification', { unread: choice(['0', '1']), only: choice(['urgent', 'news']) }),
  'POST /api/notifications/read': {
    body: json(object({}, { ids: array(id), all: { ...flag, const: true } })), answers: NOTHING,
  },

  'PUT /api/sources/:id/follow': {
    body: json(object({}, {
      title: orNull({ ...text, maxLength: TITLE_MAX, description: 'Only you see this name of the source' }),
      folder: orNull({ ...text, maxLength: FOLDER_MAX }), notify: flag,
      hideGlobally: { ...flag, description: 'Views unread and list, without a folder, leave out the source’s posts' },
    })),
    answers: NOTHING,
  },
  'GET /api/reading': { answers: done('Reading') },
  'POST /api/reading/mark-read': {
    body: json(object({}, {
      all: { ...flag, const: true }, folder: text, source: id, posts: array(id), before: time,
      upTo: { ...integer, description: 'The newest post that was shown; later posts stay unread' },
      below: { ...id, description: 'Id of a post: the posts below this post in the list are marked' },
      above: { ...id, description: 'Id of a post: the posts above this post in the list are marked' },
    })),
    answers: done('Marked'), refusals: [404],
  },
  'POST /api/reading/undo': { body: json(object({ undo: id })), answers: NOTHING, refusals: [410] },

  'GET /api/posts': {
    query: {
      ...PAGE, source: { ...id, description: 'Only posts of this source' }, q: { ...text, description: SEARCH_SYNTAX },
      view: {
        ...choice(['unread', 'list', 'starred', 'muted', 'public']),
        description: 'Which posts: the posts of one of your reading lists, or all public posts',
      },
      folder: { ...text, description: 'Name of one of your folders, to filter a list' },
    },
    answers: { 200: json(listOf('Post', { searchedBackTo: SEARCHED_BACK_TO })), ...UNCHANGED }, refusals: [401, 404],
  },
  'GET /api/posts/:id': { answers: { ...done('Post'), ...UNCHANGED } },
  'POST /api/posts': {
    body: {
      ...json(object(NEW_POST, { ...POST, ...LATER })),
      ...as('multipart/form-data', object(NEW_POST, { ...POST, ...LATER, ...FILES })),
    },
    answers: { 201: json({ anyOf: [named('Post'), named('Draft')] }) }, refusals: UPLOAD,
  },
  'POST /api/preview': {
    body: json(object({}, { content: text, contentType: FORMAT })), answers: done('Preview'),
  },
  'PATCH /api/posts/:id': {
    body: json(object({}, { ...POST, ...UNSCHEDULE })),
    answers: { 200: json({ anyOf: [named('Post'), named('Draft')] }) }, refusals: [409],
  },
  'POST /api/posts/:id/withdraw': { answers: created('Draft'), refusals: [409] },
  'POST /api/posts/:id/attachments': {
    body: as('multipart/form-data', object(FILES)),
    answers: { 201: json(object({ items: array(named('Attachment')) })) }, refusals: UPLOAD,
  },
  'DELETE /api/attachments/:id': { answers: NOTHING, refusals: [409] },
  'GET /api/searches': { answers: { 200: json(listOf('SavedSearch')) } },
  'POST /api/searches': {
    body: json(object({ q: EXPRESSION }, { name: { ...text, description: 'By default the expression' } })),
    answers: created('SavedSearch'),
  },
  'POST /api/posts/:id/full-text': {
    answers: { 200: json(named('FullText')), 202: json(named('FullText')) }, refusals: [409, 429],
  },
  'GET /api/history': list('HistoryEntry'),

  'GET /api/health': {
    query: { probe: { ...choice(['live', 'ready']), default: 'ready' } },
    answers: {
      200: json({ anyOf: [named('Health'), named('Alive')] }), 503: json(named('Unready')),
    },
    proof: 'none',
  },
  'GET /api/metrics': {
    answers: { 200: { ...as('text/plain'), ...as('application/openmetrics-text') } }, proof: 'metrics',
  },
  'GET /api/openapi.json': { answers: { 200: json(anything), ...UNCHANGED }, proof: 'none' },

  'GET /api/admin/accounts': adminList('ListedAccount'),
  'GET /api/admin/accounts/:id': { answers: done('ListedAccount') },
  'PATCH /api/admin/accounts/:id': confirmed(done('ListedAccount'), {}, { role, disabled: flag }, [409]),
  'POST /api/admin/accounts/:id/reset-password': confirmed(created('PasswordLink'), {}, {}, [409]),
  'PATCH /api/admin/hub': { body: json(object({}, LOOK)), answers: { 200: json(object(LOOK)) } },
  'GET /api/admin/alerts': adminList('AlertDelivery', { state: choice(ALERT_STATES) }),
  'GET /api/admin/audit': adminList('AuditRecord', {
    act: choice(Object.keys(AUDIT_EVENTS)),
    actor: { ...text, description: 'Name of the actor' },
    target: { ...text, description: 'Only acts on targets of this kind (source), or on this one target (source:12)' },
    from: { ...text, description: 'Only events from this day or time on' },
    to: { ...text, description: 'Only events until this day (inclusive) or time' },
  }, as('text/csv')),
  'GET /api/admin/errors': adminList('ErrorEvent'),
  'GET /api/admin/jobs': adminList('Job', { state: choice(JOB_STATES) }),
  'POST /api/admin/jobs/:id/retry': { answers: done('Job'), refusals: [409] },
  'DELETE /api/admin/jobs/:id': { answers: NOTHING, refusals: [409] },
  'GET /api/admin/webhooks': adminList('Webhook'),
};
