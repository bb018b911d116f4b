import { createHash, randomUUID } from 'node:crypto';
import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId, type Input } from '../../platform/http/input.ts';
import { HttpError, invalid, json, noContent, notFound, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { inSteps, STEP, type Reading } from '../../platform/markup/in-steps.ts';
import { LINK_TAIL } from '../../platform/markup/remote-media.ts';
import { sanitizingHtml } from '../../platform/markup/sanitize-html.ts';
import { charged, nextRound, nextTurn } from '../../platform/turns.ts';
import { attachmentJson } from '../attachments/attachment-links.ts';
import {
  attachFiles, firstValues, isMultipart, keepFiles, receiveUpload, type ReceivedFile,
} from '../attachments/receive-upload.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { audit, type By } from '../audit/audit.ts';
import { notifyFollowers } from '../follows/follow-store.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { inTurn, preparePost } from '../posts/ingest-posts.ts';
import { changeablePost, mayManagePost, visibleFile, writableSource } from '../posts/post-access.ts';
import { postJson } from '../posts/query-posts.ts';
import { posts, type WholePost, type PreparedPost } from '../posts/post-store.ts';
import { matchRules } from '../rules/apply-rules.ts';
import { requireContentRoom, withinContentQuota } from '../sources/content-quota.ts';
import { setSeen } from '../reading/mark-read.ts';

export const POST_MAX = { title: 500, content: 400_000, url: 2_000 }; // characters

/** Maximum bytes of a JSON post: 400,000 characters of content, each escaped as \u…, and the other fields. */
const JSON_LIMIT = 2.5 * 1024 * 1024;

/** API: creates a post, from JSON or a form with files. */
export async function createPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = isMultipart(req)
    ? await receiveUpload(hub, req, ({ fields, files }) => writePost(hub, firstValues(fields), files, req))
    : await writePost(hub, await readJson(req, JSON_LIMIT), [], req);
  return json(postJson(hub, post), 201, { location: `${hub.config.baseUrl}/api/posts/${post.id}` });
}

/** API: changes the fields of a post that the request names. */
export async function changePost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req, JSON_LIMIT);
  return json(postJson(hub, await rewritePost(hub, pathId(req.params), values, [], req)));
}

/** API: adds files to a post. */
export async function createAttachments(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  changeablePost(hub, id, req.viewer); // the rights are checked before the hub reads megabytes
  const added = await receiveUpload(hub, req, ({ files }) => addFilesToPost(hub, id, files, req));
  return json({ items: added.map((attachment) => attachmentJson(hub, attachment)) }, 201);
}

/** API: removes an uploaded file from its post. */
export function deleteAttachment(hub: Hub, req: MemberRequest): Reply {
  removeFile(hub, pathId(req.params), req);
  return noContent();
}

/** A checked post. `isSanitized`: whether the markup comes from a stored post and is already sanitised. */
type Written = { title: string; contentHtml: string; isSanitized: boolean; url: string | null; publishedAt: number };

const EMPTY_POST: Omit<Written, 'publishedAt'> = { title: '', contentHtml: '', isSanitized: true, url: null };

/** The fields of a post as the client sent the post. */
type PostValues = Record<string, unknown>;

/**
 * Stores a post written on this hub in a native source, and marks the post read for its writer. Throws status 404, 403
 * or 409 if the viewer may not write for the source, 422 for an invalid post, 507 if the content quota is used up.
 * Keeps the uploaded files only if the post passes all checks.
 */
export async function writePost(hub: Hub, values: PostValues, files: ReceivedFile[], by: By): Promise<WholePost> {
  await nextTurn(); // lets other requests run, because parsing a long body took time
  const { sourceId, written } = readNewPost(values, hub.clock());
  requireContentRoom(hub, writableSource(hub, sourceId, by.viewer).id);
  const prepared = await prepare(hub, `urn:uuid:${randomUUID()}`, written, by);
  await keepFiles(hub, files);
  const applyRules = await matchRules(hub, { id: sourceId }, [{ prepared }]);
  return hub.db.write('create post', () => {
    const source = writableSource(hub, sourceId, by.viewer);
    const stored = posts(hub).put(source.id, prepared, hub.clock());
    if (!stored) throw notFound('source');
    attachFiles(hub, stored.id, source.ownerId, files);
    counts(hub).add('posts_ingested_total', source.kind, 1);
    notifyFollowers(hub, source.id, 1, by.viewer.id);
    applyRules(source.id, [{ id: stored.id, prepared }]);
    setSeen(hub, by.viewer, stored.id);
    audit(hub, 'post.created', by, { kind: 'post', id: stored.id, name: written.title });
    return wholePost(hub, stored.id);
  });
}

/** Changes the fields of a post that `values` contains and keeps its other fields. Throws the errors of `writePost`. */
export async function rewritePost(
  hub: Hub, id: number, values: PostValues, files: ReceivedFile[], by: By,
): Promise<WholePost> {
  await nextTurn();
  const before = changeablePost(hub, id, by.viewer);
  const written = readChangedPost(values, { ...before, isSanitized: true }, hub.clock());
  const prepared = await prepare(hub, before.guid, written, by);
  await keepFiles(hub, files);
  return hub.db.write('change post', () => {
    const { sourceId, ownerId } = changeablePost(hub, id, by.viewer);
    withinContentQuota(hub, sourceId, () => {
      posts(hub).put(sourceId, prepared, hub.clock());
      attachFiles(hub, id, ownerId, files);
    });
    audit(hub, 'post.changed', by, { kind: 'post', id, name: written.title });
    return wholePost(hub, id);
  });
}

/** Returns the post as its page would show it, without storing it. Throws status 422 for an invalid post. */
export async function previewPost(
  hub: Hub, values: PostValues, { viewer }: By,
): Promise<{ title: string; contentHtml: string }> {
  const input = createInput(values);
  const { title, contentHtml } = readWritten(input, { ...EMPTY_POST, publishedAt: hub.clock() }, hub.clock());
  input.done();
  const turn = { length: contentHtml.length, accountOf: () => viewer.id };
  return { title, contentHtml: await inTurn(hub, turn, () => inSteps(sanitizing(contentHtml))) };
}

/** Adds files to a native source's post; returns the attachments. Throws status 422 if there are no files. */
async function addFilesToPost(hub: Hub, id: number, files: ReceivedFile[], by: By): Promise<Attachment[]> {
  if (files.length === 0) {
    throw invalid([{ pointer: '/attachments', detail: 'The field “attachments” has no file.' }]);
  }
  await keepFiles(hub, files);
  return hub.db.write('add attachments', () => {
    const post = changeablePost(hub, id, by.viewer);
    audit(hub, 'post.files-added', by, { kind: 'post', id, name: post.title }, { files: files.length });
    const added = new Set(withinContentQuota(hub, post.sourceId, () => attachFiles(hub, id, post.ownerId, files)));
    return wholePost(hub, id).attachments.filter((attachment) => added.has(attachment.id));
  });
}

/** Removes an uploaded file. Throws status 403 if the viewer may only see the file, 409 for a publisher's post. */
export function removeFile(hub: Hub, id: number, by: By): Attachment {
  const { attachment, post } = visibleFile(hub, attachments(hub).find(id), by.viewer);
  const { filename, remoteUrl } = attachment;
  if (!mayManagePost(post, by.viewer)) throw new HttpError(403, 'Only the owner of the source can remove its files.');
  if (remoteUrl !== null) throw new HttpError(409, 'The file belongs to its publisher’s post and cannot be removed.');
  hub.db.write('remove attachment', () => {
    attachments(hub).detach(id);
    audit(hub, 'attachment.deleted', by, { kind: 'attachment', id, name: filename });
  });
  return attachment;
}

function wholePost(hub: Hub, id: number): WholePost {
  const post = posts(hub).find(id);
  if (!post) throw notFound('post');
  return post;
}

/** Sanitises a post for storing. The post's hash includes the current time, so that no post is skipped as unchanged. */
function prepare(hub: Hub, guid: string, { isSanitized, ...written }: Written, { viewer }: By): Promise<PreparedPost> {
  const { length } = written.contentHtml;
  return inTurn(hub, { length, accountOf: () => viewer.id }, async () => {
    if (length > STEP) await nextRound(); // lets other requests run, because making markup took time
    const contentHtml = isSanitized ? written.contentHtml : await inSteps(sanitizing(written.contentHtml));
    const now = hub.clock();
    const hashed = JSON.stringify({ ...written, contentHtml, now });
    const contentHash = createHash('sha256').update(hashed).digest('base64url');
    const rest = { author: null, language: null, baseUrl: '', summary: null, updatedAt: now, attachments: [] };
    return preparePost({ guid, ...written, contentHtml, ...rest }, contentHash);
  });
}

/** Reads a new post; throws 422 with every mistake in the post. */
function readNewPost(values: PostValues, now: number): { sourceId: number; written: Written } {
  const input = createInput(values);
  const sourceId = input.integer('sourceId', 1, Number.MAX_SAFE_INTEGER);
  const written = readWritten(input, { ...EMPTY_POST, publishedAt: now }, now);
  input.done();
  return { sourceId, written };
}

/** Makes a changed post from the stored post `before` and the sent `values`; throws 422 with all mistakes. */
function readChangedPost(values: PostValues, before: Written, now: number): Written {
  const input = createInput({ ...values, title: values['title'] ?? before.title });
  const written = readWritten(input, before, now);
  input.done();
  return written;
}

/** Turns plain text into unsanitised markup: blank lines make paragraphs, line ends <br>, URLs links. */
function textToParagraphs(text: string): string {
  const blocks = text.replace(/\r\n?/g, '\n').split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean);
  const paragraphs = blocks.map((block) => `<p>${withLinks(block).replaceAll('\n', '<br>')}</p>`);
  return paragraphs.join('\n');
}

const ADDRESS = /(\bhttps?:\/\/[^\s<>"“”«»「」『』（）、。，；：！？]{1,2000})/i;
const AFTER_ADDRESS = '.,;:!?\'’)]}';

/** Escapes the text and makes links of its URLs. */
function withLinks(text: string): string {
  return text.split(ADDRESS).map((part, index) => (index % 2 === 0 ? escapeHtml(part) : linkTo(part))).join('');
}

/** Makes a link of a URL, without punctuation after the URL and without a bracket that was opened before the URL. */
function linkTo(typed: string): string {
  let end = typed.length;
  while (end > 0 && AFTER_ADDRESS.includes(typed[end - 1] ?? ' ')) end--;
  if (typed[end] === ')' && typed.slice(0, end).includes('(')) end++;
  const [address, rest] = [typed.slice(0, end), typed.slice(end)];
  const url = URL.parse(address);
  if (!url || url.username !== '' || url.password !== '') return escapeHtml(typed);
  return `<a href="${escapeHtml(address)}">${escapeHtml(address)}</a>${escapeHtml(rest)}`;
}

/** Turns markup that `textToParagraphs` has made back into plain text; undefined for other markup. */
export async function paragraphsToText(contentHtml: string): Promise<string | undefined> {
  const unlinked = contentHtml.replace(/<a href="[^"<>]*"[^<>]*>([^<>]*)<\/a>/g, '$1');
  if (/<(?!\/?p>|br>)/.test(unlinked)) return undefined;
  const blocks = unlinked.split('</p>\n<p>').join('\n\n').replace(/^<p>|<\/p>$/g, '').replaceAll('<br>', '\n');
  const text = decodeEntities(blocks);
  await nextRound(); // lets other requests run
  const again = charged(textToParagraphs)(text);
  await nextRound();
  return await inSteps(sanitizing(again)) === contentHtml ? text : undefined;
}

const UNESCAPED: Record<string, string> = { quot: '"', '#39': "'", gt: '>' };

/** Shortens sanitised markup for the form of a long post: removes what sanitising adds again. */
export function shortMarkup(contentHtml: string): string {
  return contentHtml.replaceAll(LINK_TAIL, '').replace(/<[^<>]*>|&(quot|#39|gt);/g,
    (markup: string, name: string | undefined) => (name === undefined ? markup : UNESCAPED[name] ?? markup));
}

function readWritten(input: Input, before: Written, now: number): Written {
  const title = input.text('title', { max: POST_MAX.title });
  const { contentHtml, isSanitized } = readContent(input) ?? before;
  const url = input.has('url') ? readUrl(input) : before.url;
  return { title, contentHtml, isSanitized, url, publishedAt: readTime(input, now) ?? before.publishedAt };
}

function readContent(input: Input): Pick<Written, 'contentHtml' | 'isSanitized'> | undefined {
  const contentType = input.optionalChoice('contentType', ['text/plain', 'text/html']) ?? 'text/plain';
  if (!input.has('content')) return undefined;
  const content = input.required('content', input.prose('content', POST_MAX.content)) ?? '';
  const contentHtml = contentType === 'text/html' ? content : textToParagraphs(content);
  return { contentHtml, isSanitized: false };
}

/** Sanitises HTML without resolving relative links: a post written on this hub has no base URL. */
function sanitizing(html: string): Reading<string> {
  return sanitizingHtml(html, { baseUrl: 'about:blank' });
}

/** Reads the link of a post; null if the field is empty. */
function readUrl(input: Input): string | null {
  const typed = input.optionalText('url', { max: POST_MAX.url });
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
