import type { DraftFields } from './draft-store.ts';
import { MAX } from './write-post.ts';

/** A field with more characters (`length`) than it may have (`most`), of which the first (`kept`) are left. */
export type CutField = { name: keyof typeof LONGEST; length: number; most: number; kept: number };

/** What was typed into a form, as far as a draft and a page hold it. */
export type Typed = { fields: DraftFields; cut: CutField[] };

/** Characters of each field that a draft and the form hold. */
const LONGEST = { sourceId: 20, title: MAX.title, content: MAX.content, contentType: 20, url: MAX.url };

/**
 * The fields of a form for a post, none longer than a post may have it. Version 1.0.0 kept drafts of two megabytes,
 * which made pages of ten.
 */
export function fittingFields({ sourceId, title = '', content = '', contentType = '', url = '' }: DraftFields): Typed {
  const typed = { ...(sourceId !== undefined && { sourceId }), title, content, contentType, url };
  const cut: CutField[] = [];
  const fields = Object.fromEntries(Object.entries(typed).map(([field, text]) => {
    const name = field as CutField['name'];
    const kept = beginning(text, LONGEST[name]);
    if (kept.length < text.length) cut.push({ name, length: text.length, most: LONGEST[name], kept: kept.length });
    return [name, kept];
  }));
  return { fields, cut };
}

/** At most so many UTF-16 units of a text, without half of a character at its end. */
function beginning(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** The same with one character for each line end: browsers send two, but count one against a field's `maxlength`. */
export function withLineFeeds(fields: DraftFields): DraftFields {
  const { content } = fields;
  return content === undefined ? fields : { ...fields, content: content.replaceAll('\r\n', '\n') };
}
