import { withLineFeeds } from '../../platform/http/input.ts';
import type { DraftFields, Tab } from './draft-store.ts';
import { tabOf } from './keep-draft.ts';
import { POST_MAX } from './post-fields.ts';

/** Maximum characters of each field of a post in a draft and in the form, and the field's name in sentences. */
const FIELDS = {
  sourceId: { max: 20, label: 'place' }, title: { max: POST_MAX.title, label: 'title' },
  content: { max: POST_MAX.content, label: 'text' }, contentType: { max: 20, label: 'format' },
  url: { max: POST_MAX.url, label: 'link' }, publishAt: { max: 30, label: 'time' },
  version: { max: 50, label: 'version' },
};

const EMPTY: DraftFields = { title: '', content: '', contentType: '', url: '' };

/** A field of `length` characters that was cut to `kept`, because it may have at most `max`. */
export type CutField = { label: string; length: number; max: number; kept: number };
export type Typed = { fields: DraftFields; cut: CutField[]; tab: Tab };

/** Cuts the fields of a form to the lengths that a post may have. A draft from version 1.0.0 may have two megabytes. */
export function fittingFields(sent: DraftFields): Typed {
  const whole = contentWithLineFeeds({ ...EMPTY, ...sent });
  const [fields, cut]: [DraftFields, CutField[]] = [{}, []];
  for (const [name, { max, label }] of Object.entries(FIELDS)) {
    const text = whole[name] ?? '';
    if (text === '' && EMPTY[name] === undefined) continue;
    const kept = fields[name] = truncate(text, max);
    if (kept.length < text.length) cut.push({ label, length: text.length, max, kept: kept.length });
  }
  return { fields, cut, tab: tabOf(sent) };
}

/** Returns the first UTF-16 units of a text, without half a character at the end. */
function truncate(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
}

export function contentWithLineFeeds(fields: DraftFields): DraftFields {
  const { content } = fields;
  return content === undefined ? fields : { ...fields, content: withLineFeeds(content) };
}

/** Each says of a cut field how much too long it was, and how much of it is left. */
export function cutSentences(cut: CutField[], left: 'kept' | 'shown'): string[] {
  const count = (characters: number): string => characters.toLocaleString('en');
  return cut.map(({ label, length, max, kept }) =>
    `The ${label} has ${count(length)} characters, ${count(length - max)} more than it may have. ` +
    `The first ${count(kept)} characters are ${left}, the last ${count(length - kept)} are not.`);
}
