import { DAY } from '../../platform/clock.ts';
import type { JsonObject } from '../../platform/http/body.ts';
import {
  choice, field, filled, id, line, noted, optional, orNull, prose, readGiven, text, time, type Field, type Given,
} from '../../platform/http/fields.ts';
import type { Input } from '../../platform/http/input.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { wallTime } from '../../platform/http/times.ts';
import type { Hub } from '../hub/hub.ts';
import { FORMATS, type PostText } from '../posts/post-text-store.ts';

export const POST_MAX = { title: 500, content: 400_000, url: 2_000 }; // characters

/** Maximum bytes of a JSON post: the most characters of content, each escaped as \u…, and the other fields. */
export const JSON_LIMIT = 2.5 * 1024 * 1024;

const FURTHEST = 366 * DAY;

const title = line({ max: POST_MAX.title });

/** null: the title stays as it is. */
const otherTitle: typeof title = {
  ...title, read: (input, name) => (input.isNull(name) ? undefined : filled(title).read(input, name)),
};

/** Empty or null: no address. */
const url = field<string | null>({ ...orNull(text).schema, maxLength: POST_MAX.url }, (input, name) => {
  if (!input.has(name)) return undefined;
  const typed = input.optionalText(name, { max: POST_MAX.url });
  if (typed === undefined) return null;
  const parsed = /^https?:\/\//i.test(typed) ? URL.parse(typed) : null;
  if (parsed && parsed.username === '' && parsed.password === '') return parsed.href;
  return input.refuse(name, 'must begin with http:// or https://.');
});

const timeOrEmpty: Field<number> = {
  ...time, read: (input, name) => (input.value(name) === '' ? undefined : time.read(input, name)),
};

export const TEXT_FIELDS = {
  content: optional(filled(prose(POST_MAX.content))),
  contentType: optional(noted(choice(FORMATS), { default: 'text/plain' })),
};

const ABOUT = { ...TEXT_FIELDS, url: optional(url), publishedAt: optional(timeOrEmpty) };

export const POST_FIELDS = { sourceId: id, title, ...ABOUT };
export const CHANGE_FIELDS = { title: optional(otherTitle), ...ABOUT };
export type PostFields = Given<typeof POST_FIELDS>;
export type ChangeFields = Given<typeof CHANGE_FIELDS>;

const later = noted(time, 'The hub publishes the post at this time, within a year, not at publishedAt');

/** A post that is published later if it has `publishAt`. */
export const SENT_FIELDS = { ...POST_FIELDS, publishAt: optional(later) };

/** `alone`: nothing else was sent. Posts and drafts may have the same ids, so only that can mean a draft. */
const unscheduled = field<'alone' | 'beside'>(
  { type: 'null', description: 'Alone in a request whose id is a draftId: ends the schedule of this draft' },
  (input, name) => (input.isNull(name) ? input.names.length === 1 ? 'alone' : 'beside'
    : input.has(name) ? refusePublishAt(input, 'can only be null: unschedule.') : undefined),
);

export const SENT_CHANGE_FIELDS = { ...CHANGE_FIELDS, publishAt: optional(unscheduled) };

/** Reads a sent post; a form has `publishAt` in the viewer's time zone. */
export function readSentPost(hub: Hub, values: JsonObject, viewer: Viewer): Given<typeof SENT_FIELDS> {
  const read = (input: Input, name: string) => readPublishAt(input, name, hub, viewer);
  const fields = { ...SENT_FIELDS, publishAt: { ...SENT_FIELDS.publishAt, read } };
  return readGiven(fields, values, { check: inThePast(hub) });
}

/** Reads a time of the API (RFC 3339) or of a form (`2026-11-27T09:00`) as unix ms. */
function readPublishAt(input: Input, name: string, hub: Hub, { preferences }: Viewer): number | undefined {
  const typed = filled(line({ max: 64 })).read(input, name);
  if (typed === undefined) return undefined;
  const at = wallTime(typed, preferences.timeZone ?? undefined);
  if (at !== undefined && at > hub.clock() && at <= hub.clock() + FURTHEST) return at;
  return refusePublishAt(input, 'must be a time within the next year, such as 2026-12-31T12:00:00Z.');
}

function refusePublishAt({ errors }: Input, detail: string): undefined {
  errors.push({ pointer: '/publishAt', detail: `publishAt ${detail}` });
}

/** A check of fields: a post cannot have been published in the future. */
export function inThePast(hub: Hub) {
  return (input: Input, { publishedAt }: { publishedAt?: number }): void => {
    if (publishedAt === undefined || publishedAt <= hub.clock()) return;
    input.refuse('publishedAt', 'must be a time in the past, such as 2026-01-31T12:00:00Z.');
  };
}

/** Undefined without content. */
export function postText({ content, contentType = 'text/plain' }: Given<typeof TEXT_FIELDS>): PostText | undefined {
  return content === undefined ? undefined : { contentType, content };
}
