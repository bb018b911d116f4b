import { decodeEntities, escapeHtml, unescapeHtml } from '../../platform/markup/entities.ts';
import { inSteps, isPauseDue, joining, resumable, type Resumable } from '../../platform/markup/in-steps.ts';
import { renderingMarkdown } from '../../platform/markup/markdown.ts';
import { LINK_TAIL } from '../../platform/markup/remote-media.ts';
import { sanitizingHtml } from '../../platform/markup/sanitize-html.ts';
import { nextRound } from '../../platform/turns.ts';
import { OWN_FILES } from '../attachments/own-files.ts';
import type { PostText } from '../posts/post-text-store.ts';

/** Turns a text that a member has written into sanitised HTML. */
export async function sanitizedText({ content, contentType }: PostText): Promise<string> {
  if (contentType === 'text/html') return inSteps(sanitizing(content));
  const parts = contentType === 'text/plain' ? textToParagraphs(content)
    : linkAddresses(await inSteps(renderingMarkdown(content)));
  return inSteps(sanitizing(await inSteps(resumable(parts))));
}

/** Sanitises HTML. OWN_FILES is the base of relative addresses, most of which name the post's own files. */
function sanitizing(html: string): Resumable<string> {
  return sanitizingHtml(html, { baseUrl: OWN_FILES, isOwn: true });
}

/** Turns plain text into unsanitised markup: blank lines make paragraphs, line ends <br>, URLs links. */
function* textToParagraphs(text: string): Generator<void, string> {
  const linked = yield* withLinks(text.replace(/\r\n?/g, '\n'));
  const paragraphs: string[] = [];
  const pace = { unpaused: 0 };
  for (const block of linked.split(/\n\s*\n/)) {
    if (isPauseDue(pace, block.length + 1)) yield;
    const trimmed = block.trim();
    const before = paragraphs.length > 0 ? '\n' : '';
    if (trimmed !== '') paragraphs.push(`${before}<p>${trimmed.replaceAll('\n', '<br>')}</p>`);
  }
  return yield* joining(paragraphs);
}

const ADDRESS = /\bhttps?:\/\/[^\s<>"“”«»「」『』（）、。，；：！？]{1,2000}/gi;
const AFTER_ADDRESS = '.,;:!?\'’)]}';

function* withLinks(text: string): Generator<void, string> {
  let [linked, end] = ['', 0];
  const pace = { unpaused: 0 };
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    if (isPauseDue(pace, address.length)) yield;
    linked += escapeHtml(text.slice(end, index)) + linkTo(address);
    end = index + address.length;
  }
  return linked + escapeHtml(text.slice(end));
}

/** Makes a link of a URL without credentials. Punctuation at its end stays outside, but for one `)` after a `(`. */
function linkTo(typed: string): string {
  let end = typed.length;
  while (end > 0 && AFTER_ADDRESS.includes(typed[end - 1] ?? ' ')) end--;
  if (typed[end] === ')' && typed.slice(0, end).includes('(')) end++;
  const [address, rest] = [typed.slice(0, end), typed.slice(end)];
  const url = URL.parse(address);
  if (!url || url.username !== '' || url.password !== '') return escapeHtml(typed);
  return `<a href="${escapeHtml(address)}">${escapeHtml(address)}</a>${escapeHtml(rest)}`;
}

/** A plain text from which `sanitizedText` makes exactly this HTML; undefined for other HTML. */
export async function paragraphsToText(contentHtml: string): Promise<string | undefined> {
  const unlinked = contentHtml.replace(/<a href="[^"<>]*"[^<>]*>([^<>]*)<\/a>/g, '$1');
  if (/<(?!\/?p>|br>)/.test(unlinked)) return undefined;
  const blocks = unlinked.split('</p>\n<p>').join('\n\n').replace(/^<p>|<\/p>$/g, '').replaceAll('<br>', '\n');
  const text = unescapeHtml(blocks);
  await nextRound(); // lets other requests run
  const again = await inSteps(resumable(textToParagraphs(text)));
  return await inSteps(sanitizing(again)) === contentHtml ? text : undefined;
}

const UNESCAPED: Record<string, string> = { quot: '"', '#39': "'", gt: '>' };

/** Shortens sanitised markup for the form of a long post: removes what sanitising adds again. */
export function shortMarkup(contentHtml: string): string {
  return contentHtml.replaceAll(LINK_TAIL, '').replace(/<[^<>]*>|&(quot|#39|gt);/g,
    (markup: string, name: string | undefined) => (name === undefined ? markup : UNESCAPED[name] ?? markup));
}

const PIECE = /<(\/?)(a|code|pre|script|style)\b[^<>]*>|<[^<>]*>|[^<]+|</gi;

/** Makes links of the web addresses in rendered Markdown that are neither links already nor code. */
function* linkAddresses(markup: string): Generator<void, string> {
  let [linked, end, depth] = ['', 0, 0];
  const pace = { unpaused: 0 };
  for (const { 0: piece, 1: slash, 2: name, index } of markup.matchAll(PIECE)) {
    if (isPauseDue(pace, piece.length)) yield;
    if (name !== undefined) depth = Math.max(0, depth + (slash === '/' ? -1 : 1));
    if (depth > 0 || piece.startsWith('<') || !piece.includes('://')) continue;
    linked += markup.slice(end, index) + (yield* withLinks(decodeEntities(piece)));
    end = index + piece.length;
  }
  return linked + markup.slice(end);
}
