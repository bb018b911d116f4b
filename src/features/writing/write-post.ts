import { createHash, randomUUID } from 'node:crypto';
import { createInput, type Input } from '../../platform/http/input.ts';
import { HttpError, invalid, notFound } from '../../platform/http/reply.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { inSteps, type Reading } from '../../platform/markup/in-steps.ts';
import { LINK_TAIL } from '../../platform/markup/remote-media.ts';
import { sanitizingHtml } from '../../platform/markup/sanitize-html.ts';
import { attachFiles, keepFiles, type ReceivedFile } from '../attachments/receive-upload.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { audit, type By } from '../audit/audit.ts';
import { notifyFollowers } from '../follows/follow-store.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { inTurn, preparePost } from '../posts/ingest-posts.ts';
import { changeablePost, mayManagePost, visibleFile, writableSource } from '../posts/post-access.ts';
import { posts, type WholePost, type PreparedPost } from '../posts/post-store.ts';
import { setSeen } from '../reading/mark-read.ts';

export const MAX = { title: 500, content: 400_000, url: 2_000 }; // characters

/** What somebody wrote, checked. The markup is sanitised where it is that of a stored post. */
type Draft = { title: string; contentHtml: string; isSanitized: boolean; url: string | null; publishedAt: number };

const NOTHING: Omit<Draft, 'publishedAt'> = { title: '', contentHtml: '', isSanitized: true, url: null };

/** What was sent of a post, by member. */
type Values = Record<string, unknown>;

/**
 * Stores a post that somebody writes at the hub, for a source of kind native; its writer has read it. 404, 403 or 409
 * for the source, 422 for what is written; only then are the files kept.
 */
export async function writePost(hub: Hub, values: Values, files: ReceivedFile[], by: By): Promise<WholePost> {
  const { sourceId, draft } = readNewPost(values, hub.clock());
  writableSource(hub, sourceId, by.viewer);
  const prepared = await prepare(hub, `urn:uuid:${randomUUID()}`, draft, by);
  await keepFiles(hub, files);
  return hub.db.write('create post', () => {
    const source = writableSource(hub, sourceId, by.viewer);
    const stored = posts(hub).put(source.id, prepared, hub.clock());
    if (!stored) throw notFound('source');
    attachFiles(hub, stored.id, source.ownerId, files);
    counts(hub).add('posts_ingested_total', source.kind, 1);
    notifyFollowers(hub, source.id, 1, by.viewer.id);
    setSeen(hub, by.viewer, stored.id);
    audit(hub, 'post.created', by, { kind: 'post', id: stored.id, name: draft.title });
    return find(hub, stored.id);
  });
}

/** Changes a post by the members that are there; the others stay. Refuses as `writePost` does. */
export async function rewritePost(
  hub: Hub, id: number, values: Values, files: ReceivedFile[], by: By,
): Promise<WholePost> {
  const before = changeablePost(hub, id, by.viewer);
  const draft = readChangedPost(values, { ...before, isSanitized: true }, hub.clock());
  const prepared = await prepare(hub, before.guid, draft, by);
  await keepFiles(hub, files);
  return hub.db.write('change post', () => {
    const { sourceId, ownerId } = changeablePost(hub, id, by.viewer);
    posts(hub).put(sourceId, prepared, hub.clock());
    attachFiles(hub, id, ownerId, files);
    audit(hub, 'post.changed', by, { kind: 'post', id, name: draft.title });
    return find(hub, id);
  });
}

/** What would be shown of a post that was written so; nothing is stored. 422 for what is written. */
export async function previewPost(
  hub: Hub, values: Values, { viewer }: By,
): Promise<{ title: string; contentHtml: string }> {
  const input = createInput(values);
  const { title, contentHtml } = readDraft(input, { ...NOTHING, publishedAt: hub.clock() }, hub.clock());
  input.done();
  const turn = { length: contentHtml.length, accountOf: () => viewer.id };
  return { title, contentHtml: await inTurn(hub, turn, () => inSteps(sanitizing(contentHtml))) };
}

/** Adds files to a post of a source of own posts; returns the attachments that they became. 422 without any. */
export async function addFilesToPost(hub: Hub, id: number, files: ReceivedFile[], by: By): Promise<Attachment[]> {
  if (files.length === 0) {
    throw invalid([{ pointer: '/attachments', detail: 'There is no file in the field attachments.' }]);
  }
  await keepFiles(hub, files);
  return hub.db.write('add attachments', () => {
    const post = changeablePost(hub, id, by.viewer);
    audit(hub, 'post.files-added', by, { kind: 'post', id, name: post.title }, { files: files.length });
    const added = new Set(attachFiles(hub, id, post.ownerId, files));
    return find(hub, id).attachments.filter((attachment) => added.has(attachment.id));
  });
}

/** Takes an uploaded file off its post; 403 for who may only see it, 409 for a publisher's file. */
export function removeFile(hub: Hub, id: number, by: By): Attachment {
  const { attachment, post } = visibleFile(hub, attachments(hub).find(id), by.viewer);
  const { filename, remoteUrl } = attachment;
  if (!mayManagePost(post, by.viewer)) throw new HttpError(403, 'Only the owner of the source can remove its files.');
  if (remoteUrl !== null) throw new HttpError(409, 'This file is part of its publisher’s post.');
  hub.db.write('remove attachment', () => {
    attachments(hub).detach(id);
    audit(hub, 'attachment.deleted', by, { kind: 'attachment', id, name: filename });
  });
  return attachment;
}

function find(hub: Hub, id: number): WholePost {
  const post = posts(hub).find(id);
  if (!post) throw notFound('post');
  return post;
}

/** Its hash includes the time, so that whatever somebody writes is stored anew. */
function prepare(hub: Hub, guid: string, { isSanitized, ...draft }: Draft, { viewer }: By): Promise<PreparedPost> {
  return inTurn(hub, { length: draft.contentHtml.length, accountOf: () => viewer.id }, async () => {
    const contentHtml = isSanitized ? draft.contentHtml : await inSteps(sanitizing(draft.contentHtml));
    const now = hub.clock();
    const contentHash = createHash('sha256').update(JSON.stringify({ ...draft, contentHtml, now })).digest('base64url');
    const rest = { author: null, language: null, baseUrl: '', summary: null, updatedAt: now, attachments: [] };
    return preparePost({ guid, ...draft, contentHtml, ...rest }, contentHash);
  });
}

/** A new post as it was sent: source and draft. 422 with every mistake. */
function readNewPost(values: Values, now: number): { sourceId: number; draft: Draft } {
  const input = createInput(values);
  const sourceId = input.integer('sourceId', 1, Number.MAX_SAFE_INTEGER);
  const draft = readDraft(input, { ...NOTHING, publishedAt: now }, now);
  input.done();
  return { sourceId, draft };
}

/** A post as it becomes by the members that were sent; the others stay. 422 with every mistake. */
function readChangedPost(values: Values, before: Draft, now: number): Draft {
  const input = createInput({ ...values, title: values['title'] ?? before.title });
  const draft = readDraft(input, before, now);
  input.done();
  return draft;
}

/** Plain text as markup, still to be sanitised: blank lines part paragraphs, line ends stay, addresses are links. */
function textToParagraphs(text: string): string {
  const blocks = text.replace(/\r\n?/g, '\n').split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean);
  const paragraphs = blocks.map((block) => `<p>${withLinks(block).replaceAll('\n', '<br>')}</p>`);
  return paragraphs.join('\n');
}

const ADDRESS = /(\bhttps?:\/\/[^\s<>"“”«»「」『』（）、。，；：！？]{1,2000})/i;
const BEHIND_ADDRESSES = '.,;:!?\'’)]}';

/** The text, escaped; web addresses in it are links. */
function withLinks(text: string): string {
  return text.split(ADDRESS).map((part, index) => (index % 2 === 0 ? escapeHtml(part) : linkTo(part))).join('');
}

/** What ends a sentence is no part of an address, nor is a bracket that began before it. */
function linkTo(typed: string): string {
  let end = typed.length;
  while (end > 0 && BEHIND_ADDRESSES.includes(typed[end - 1] ?? ' ')) end--;
  if (typed[end] === ')' && typed.slice(0, end).includes('(')) end++;
  const [address, rest] = [typed.slice(0, end), typed.slice(end)];
  const url = URL.parse(address);
  if (!url || url.username !== '' || url.password !== '') return escapeHtml(typed);
  return `<a href="${escapeHtml(address)}">${escapeHtml(address)}</a>${escapeHtml(rest)}`;
}

/** The plain text that `textToParagraphs` makes this markup of, or undefined where there is none. */
export async function paragraphsToText(contentHtml: string): Promise<string | undefined> {
  const unlinked = contentHtml.replace(/<a href="[^"<>]*"[^<>]*>([^<>]*)<\/a>/g, '$1');
  if (/<(?!\/?p>|br>)/.test(unlinked)) return undefined;
  const blocks = unlinked.split('</p>\n<p>').join('\n\n').replace(/^<p>|<\/p>$/g, '').replaceAll('<br>', '\n');
  const text = decodeEntities(blocks);
  return await inSteps(sanitizing(textToParagraphs(text))) === contentHtml ? text : undefined;
}

const UNESCAPED: Record<string, string> = { quot: '"', '#39': "'", gt: '>' };

/** Sanitised markup without what sanitising it again adds, so that a form for a long post holds it. */
export function shortMarkup(contentHtml: string): string {
  return contentHtml.replaceAll(LINK_TAIL, '').replace(/<[^<>]*>|&(quot|#39|gt);/g,
    (markup: string, name: string | undefined) => (name === undefined ? markup : UNESCAPED[name] ?? markup));
}

function readDraft(input: Input, before: Draft, now: number): Draft {
  const title = input.text('title', { max: MAX.title });
  const { contentHtml, isSanitized } = readContent(input) ?? before;
  const url = input.has('url') ? readUrl(input) : before.url;
  return { title, contentHtml, isSanitized, url, publishedAt: readTime(input, now) ?? before.publishedAt };
}

function readContent(input: Input): Pick<Draft, 'contentHtml' | 'isSanitized'> | undefined {
  const contentType = input.optionalChoice('contentType', ['text/plain', 'text/html']) ?? 'text/plain';
  if (!input.has('content')) return undefined;
  const content = input.required('content', input.prose('content', MAX.content)) ?? '';
  const contentHtml = contentType === 'text/html' ? content : textToParagraphs(content);
  return { contentHtml, isSanitized: false };
}

/** Links have to be whole: a post of the hub's own has no page that they could be relative to. */
function sanitizing(html: string): Reading<string> {
  return sanitizingHtml(html, { baseUrl: 'about:blank' });
}

/** Null where there is none. */
function readUrl(input: Input): string | null {
  const typed = input.optionalText('url', { max: MAX.url });
  if (typed === undefined) return null;
  const url = /^https?:\/\//i.test(typed) ? URL.parse(typed) : null;
  if (url && url.username === '' && url.password === '') return url.href;
  return input.refuse('url', 'must begin with http:// or https://.') ?? null;
}

function readTime(input: Input, now: number): number | undefined {
  const at = input.value('publishedAt') === '' ? undefined : input.time('publishedAt');
  if (at === undefined || at <= now) return at;
  return input.refuse('publishedAt', 'must be a time in the past, such as 2026-01-31T12:00:00Z.');
}
