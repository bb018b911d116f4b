import { createInput, type Input } from '../../platform/http/input.ts';
import { escapeHtml, decodeEntities } from '../../platform/markup/entities.ts';
import { sanitizeHtml } from '../../platform/markup/sanitize-html.ts';

const MAX = { title: 500, content: 400_000, url: 2_000 }; // characters

/** What somebody wrote, checked and sanitised. */
export type Draft = { title: string; contentHtml: string; url: string | null; publishedAt: number };

type Values = Record<string, unknown>;
/** A new post as it was sent: source and draft. 422 with every mistake. */
export function readNewPost(values: Values, now: number): { sourceId: number; draft: Draft } {
  const input = createInput(values);
  const sourceId = input.optionalInteger('sourceId', 1, Number.MAX_SAFE_INTEGER) ?? 0;
  if (values['sourceId'] === undefined || values['sourceId'] === '') input.refuse('sourceId', 'is required.');
  const draft = readDraft(input, values, { title: '', contentHtml: '', url: null, publishedAt: now }, now);
  input.done();
  return { sourceId, draft };
}

/** A post as it becomes by the members that were sent; the others stay. 422 with every mistake. */
export function readChangedPost(values: Values, before: Draft, now: number): Draft {
  const input = createInput({ ...values, title: values['title'] ?? before.title });
  const draft = readDraft(input, values, before, now);
  input.done();
  return draft;
}

/** Plain text as markup: blank lines part paragraphs, line ends stay. */
export function textToParagraphs(text: string): string {
  const blocks = text.replace(/\r\n?/g, '\n').split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean);
  const paragraphs = blocks.map((block) => `<p>${escapeHtml(block).replaceAll('\n', '<br>')}</p>`);
  return sanitize(paragraphs.join('\n'));
}

/** The plain text that `textToParagraphs` makes this markup of, or undefined where there is none. */
export function paragraphsToText(contentHtml: string): string | undefined {
  const blocks = contentHtml.split('</p>\n<p>').join('\n\n').replace(/^<p>|<\/p>$/g, '').replaceAll('<br>', '\n');
  const text = decodeEntities(blocks);
  return textToParagraphs(text) === contentHtml ? text : undefined;
}

function readDraft(input: Input, values: Values, before: Draft, now: number): Draft {
  return {
    title: input.text('title', { max: MAX.title }),
    contentHtml: readContent(input, values) ?? before.contentHtml,
    url: readUrl(input) ?? (values['url'] === null || values['url'] === '' ? null : before.url),
    publishedAt: readTime(input, now) ?? before.publishedAt,
  };
}

function readContent(input: Input, values: Values): string | undefined {
  const contentType = input.optionalChoice('contentType', ['text/plain', 'text/html']) ?? 'text/plain';
  const content = values['content'];
  if (content === undefined) return undefined;
  if (typeof content !== 'string' || content.length > MAX.content) {
    return input.refuse('content', `must be text of at most ${MAX.content} characters.`);
  }
  return contentType === 'text/html' ? sanitize(content) : textToParagraphs(content);
}

/** Links have to be whole: a post of the hub's own has no page that they could be relative to. */
function sanitize(html: string): string {
  return sanitizeHtml(html, { baseUrl: 'about:blank' });
}

function readUrl(input: Input): string | undefined {
  const typed = input.optionalText('url', { max: MAX.url });
  if (typed === undefined) return undefined;
  const url = /^https?:\/\//i.test(typed) && URL.canParse(typed) ? new URL(typed) : undefined;
  if (url && url.username === '' && url.password === '') return url.href;
  return input.refuse('url', 'must begin with http:// or https://.');
}

function readTime(input: Input, now: number): number | undefined {
  const typed = input.optionalText('publishedAt', { max: 40 });
  if (typed === undefined) return undefined;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(typed);
  const at = isTime ? Date.parse(typed) : NaN;
  return at <= now ? at : input.refuse('publishedAt', 'must be a time in the past, such as 2026-01-31T12:00:00Z.');
}
