import { TOKEN_SCOPES } from '../features/accounts/credential-store.ts';
import { ALERT_STATES } from '../features/alerts/alert-store.ts';
import { DESTINATIONS } from '../features/backups/offsite-status.ts';
import { OUTCOMES } from '../features/manage-sources/import-store.ts';
import { FORMATS } from '../features/posts/post-text-store.ts';
import { LIST_ORDERS, LIST_SHOWS } from '../features/reading/list-choice-store.ts';
import { SOURCE_KINDS, VISIBILITIES } from '../features/sources/source-store.ts';
import { CHOICES, SWITCHES } from '../features/hub/preferences.ts';
import { JOB_STATES } from '../platform/jobs/job-records.ts';

export type Schema = { readonly [keyword: string]: unknown };

export const text: Schema = { type: 'string' };
export const integer: Schema = { type: 'integer' };
export const flag: Schema = { type: 'boolean' };
export const anything: Schema = { type: 'object', additionalProperties: true };
export const id: Schema = { type: 'integer', minimum: 1 };
export const time: Schema = { type: 'string', format: 'date-time' };
export const role: Schema = choice(['admin', 'member']);
export const visibility: Schema = choice(VISIBILITIES);

export function choice(values: readonly string[]): Schema {
  return { type: 'string', enum: values };
}

export function orNull(schema: Schema): Schema {
  return { ...schema, type: [schema['type'], 'null'] };
}

export function object(required: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } };
}

export function array(items: Schema): Schema {
  return { type: 'array', items };
}

/** A reference to a schema in SCHEMAS. */
export function named(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** One page of a list; `next` is the cursor of the next page, null on the last. */
export function listOf(name: string, optional: Record<string, Schema> = {}): Schema {
  return object({ items: array(named(name)), next: orNull(text) }, optional);
}

const account = { id, username: text, displayName: text, role, createdAt: time };
const used = { createdAt: time, lastUsedAt: orNull(time) };
const token = { id, name: text, scope: choice(TOKEN_SCOPES), ...used, expiresAt: orNull(time), address: orNull(text) };
const session = { id, ...used, expiresAt: time, address: orNull(text) };
const titled = object({ id, title: text });
const age = { ageSeconds: integer };
const counted = { ...integer, maximum: 1_000, description: 'The number of posts, counted up to 1,000' };
const party = object({ id, displayName: text });
const sentOffer = {
  id, source: titled,
  to: { ...orNull(party), description: 'The receiver of the offered source; null if the hub chose the receiver' },
  expiresAt: time,
};
const offer = { ...sentOffer, direction: choice(['received', 'sent']), from: party, offeredAt: time };
const webhookState = choice(['active', 'silent', 'disabled']);

export const SCHEMAS: Record<string, Schema> = {
  Problem: object({ type: text, title: text, status: integer, detail: text }, {
    errors: array(object({ pointer: text, detail: text }, {
      at: { ...integer, description: 'The place of the fault in a text, counted in characters from 0' },
    })),
    sources: { ...array(titled), description: 'Sources to transfer or delete before you can delete your account' },
    sourceId: { ...id, description: 'Your existing source of this feed' },
    bytesLeft: { ...integer, description: 'Bytes left in the account’s quota for uploaded files' },
    bytesMissing: { ...integer, description: 'Bytes by which your quota is too small for an offered source' },
  }),
  Account: object(account),
  ListedAccount: object({ ...account, disabled: flag, sources: integer, contentBytes: integer }),
  PasswordLink: object({ url: { ...text, description: 'Shown only once' }, expiresAt: time }),
  Session: object({
    ...session, current: { ...flag, description: 'Whether this session has sent the request for the list of sessions' },
  }),
  Token: object(token),
  NewToken: object({ ...token, token: { ...text, description: 'Shown only once' } }),
  Invitation: object({ id, role, createdAt: time, expiresAt: time }),
  NewInvitation: object({ id, role, expiresAt: time, url: { ...text, description: 'Shown only once' } }),
  Notification: object({
    id, kind: text, title: text, path: text, createdAt: time, readAt: orNull(time),
    count: { ...integer, description: 'Number of equal notifications, shown as one; createdAt: time of the latest' },
    urgent: { ...flag, description: 'True for notifications about security and failures, false for news' },
  }),
  Attachment: object({
    id, kind: choice(['native', 'remote']), filename: text, mediaType: orNull(text), bytes: orNull(integer),
    sha256: orNull(text), url: text, scan: choice(['clean', 'unscanned']),
  }),
  Post: object({
    id, source: object({ id, title: text, kind: choice(SOURCE_KINDS) }), title: text, url: orNull(text),
    author: orNull(text), contentHtml: text, summary: text, publishedAt: time, updatedAt: time, visibility,
    attachments: array(named('Attachment')),
  }, {
    read: { ...flag, description: 'Whether you have read the post; only signed-in clients get this field' },
    starred: flag,
    also: {
      ...array(object({ id, source: object({ id, title: text, kind: choice(SOURCE_KINDS) }) })),
      description: 'Posts with the same link as this post, in other sources that you follow',
    },
    fullText: {
      ...named('FullText'), description: 'Only signed-in clients that request a single post get its full text',
    },
    content: { ...text, description: 'The text as its author wrote the text; only for those who may change the post' },
    contentType: choice(FORMATS),
  }),
  FullText: object({ state: choice(['none', 'waiting', 'ready', 'refused', 'failed']) }, {
    reason: { ...text, description: 'Why there is no full text, such as paywall or robots' },
    explanation: { ...text, description: 'A sentence for readers why the post has no full text' }, contentHtml: text,
  }),
  Preview: object({ contentHtml: text }),
  Draft: object({ draftId: id, title: text, publishAt: orNull(time), url: text }),
  Reading: object({
    unread: counted, starred: counted, folders: array(object({
      name: orNull(text), unread: counted,
      sources: array(object({ id, title: text, unread: counted, notify: flag, hideGlobally: flag })),
    })),
  }),
  Marked: object({ marked: integer, undo: { ...id, description: 'Undo id for /api/reading/undo, for two minutes' } }),
  SavedSearch: object({ id, name: text, q: text, createdAt: time }, {
    count: { ...orNull(integer), description: 'Unread posts that the search finds, up to 100; null: not counted' },
  }),
  HistoryEntry: object({ postId: id, title: text, source: titled, readAt: time }),
  AccountExport: object({
    exportedAt: time, account: named('Account'),
    preferences: object({
      timeZone: orNull(text),
      ...Object.fromEntries(Object.entries(CHOICES).map(([name, values]) => [name, choice(values)])),
      ...Object.fromEntries(SWITCHES.map((name) => [name, flag])),
    }),
    sessions: array(object(session)), signInNetworks: array(object({ network: text, lastUsedAt: time })),
    tokens: array(named('Token')), invitations: array(named('Invitation')),
    sources: array(named('Source')), posts: array(named('Post')),
    // The fields of a draft's form are additional properties of the draft.
    drafts: array({ ...object({ form: text, savedAt: time }), additionalProperties: text }),
    offers: array(object({
      ...offer, endedAt: { ...orNull(time), description: 'When the offer of a source was declined or expired' },
    })),
    imports: array(object({
      visibility, madeAt: time, doneAt: orNull(time),
      lines: array(object({
        url: text, title: text, folder: orNull(text), outcome: orNull(choice(OUTCOMES)), reason: orNull(text),
        sourceId: orNull(id),
      })),
    })),
    follows: array(object({
      sourceId: id, title: orNull(text), ownTitle: orNull(text), folder: orNull(text), notify: flag,
      hideGlobally: flag, readUpTo: integer, since: time,
    })),
    listChoices: array(object({ list: text, order: choice(LIST_ORDERS), show: choice(LIST_SHOWS), chosenAt: time })),
    stars: array(object({ postId: id, title: orNull(text), starredAt: time })),
    rules: array(named('Rule')), searches: array(named('SavedSearch')),
    mutedPosts: array(object({ sourceId: id, postId: id, ruleId: id })),
    withdrawnStates: array(object({ draftId: id, read: orNull(flag), starredAt: orNull(time) })),
    readMarks: array(object({ sourceId: id, postId: id, read: flag, markedAt: orNull(time) })),
    history: array(named('HistoryEntry')), notifications: array(named('Notification')),
    acts: array(named('AuditRecord')),
  }),
  AuditRecord: object({
    id, at: time, act: text, actor: object({ id: orNull(id), name: text }),
    target: orNull(object({ kind: text, id: orNull(id), name: orNull(text) })),
    address: orNull(text), detail: anything,
    count: { ...integer, description: 'Number of equal acts of the actor on the target within a minute' },
  }),
  ErrorEvent: object({
    id, program: text, message: text, stack: text, count: integer, firstAt: time, lastAt: time,
  }),
  Job: object({
    id, kind: text, subject: orNull(text), lane: orNull(text), state: choice(JOB_STATES), attempts: integer,
    maxAttempts: integer, lastError: orNull(text), progress: orNull(object({ done: integer, total: orNull(integer) })),
    runAt: time, createdAt: time, finishedAt: orNull(time),
  }),
  AlertDelivery: object({
    id, event: text, title: text, body: text, severity: text, suppressed: integer, state: choice(ALERT_STATES),
    attempts: integer, createdAt: time, nextAt: orNull(time), finishedAt: orNull(time), lastError: orNull(text),
  }),
  Webhook: object({
    source: titled, ownerId: id, state: webhookState, lastEventAt: orNull(time), previousSecretUntil: orNull(time),
    createdAt: time,
  }),
  Health: object({
    ok: flag, failedJobs: integer, database: text, worker: object({ ok: flag, lastSeenSeconds: orNull(integer) }),
    schemaVersion: integer, oldestDueJobSeconds: integer,
    lastBackup: orNull(object({ ...age, verified: flag })),
    lastVerifiedBackup: orNull(object(age)),
    offsite: array(object(
      { name: choice(DESTINATIONS), ok: flag, ageSeconds: orNull(integer) }, { checkAgeSeconds: orNull(integer) })),
    recoveryKit: orNull(object({ ageSeconds: integer })),
    lastProvenRestore: array(object({ destination: choice(DESTINATIONS), ageSeconds: integer })),
    degraded: array({ type: 'string', enum: ['disk', 'backup-dir'] }),
  }),
  Alive: object({ ok: flag }),
  Unready: object({ ok: flag, database: text, error: text },
    { rescue: object({ file: text, verified: flag }), problem: text, whatToDo: text }),
};
