import { SOURCE_KINDS, SOURCE_STATES, VISIBILITIES } from '../features/sources/source-store.ts';

export type Schema = { readonly [keyword: string]: unknown };

export const text: Schema = { type: 'string' };
export const integer: Schema = { type: 'integer' };
export const flag: Schema = { type: 'boolean' };
export const anything: Schema = { type: 'object', additionalProperties: true };
export const id: Schema = { type: 'integer', minimum: 1 };
export const time: Schema = { type: 'string', format: 'date-time' };
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

const titled = object({ id, title: text });
const party = object({ id, displayName: text });
const sentOffer = {
  id, source: titled,
  to: { ...orNull(party), description: 'The receiver of the offered source; null if the hub chose the receiver' },
  expiresAt: time,
};
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
  Source: object({
    id, kind: choice(SOURCE_KINDS), title: text, visibility, owner: party,
    state: choice(SOURCE_STATES), paused: flag, lastSyncAt: orNull(time), lastSuccessAt: orNull(time),
    iconUrl: orNull(text), createdAt: time, updatedAt: time,
  }, {
    siteUrl: orNull(text), description: orNull(text), // only feeds have these two
    followed: flag, // clients that are not signed in get a source without the field `followed`
    // Only the owner of a source and administrators get the following.
    url: orNull(text), hasPassword: flag, showsAuthors: flag, stateReason: orNull(text), nextSyncAt: orNull(time),
    fullText: choice(['asked', 'always']),
    webhook: object({ state: webhookState, lastEventAt: orNull(time) }, {
      url: text, secret: { ...text, description: 'Shown only once' },
    }),
  }),
  SentOffer: object(sentOffer),
  Offer: object({ ...sentOffer, direction: choice(['received', 'sent']), from: party, offeredAt: time }),
  WebhookAccess: object({ webhook: object({ url: text, secret: text }) }),
  WebhookEvent: object({
    type: { ...text, description: 'post.published, post.updated, post.deleted; other events change no post' },
    timestamp: { ...time, description: 'When it happened; of several events of a post, the latest counts' },
    data: { ...anything, description: 'An item of JSON Feed 1.1; for post.deleted only the item’s id' },
  }),
  Imported: object({
    added: integer, alreadyFollowed: integer, leftOut: integer, refused: array(object({ url: text, reason: text })),
  }),
};
