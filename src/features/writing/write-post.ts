import { createHash, randomUUID } from 'node:crypto';
import { readJson } from '../../platform/http/body.ts';
import { createInput, pathId, type Input } from '../../platform/http/input.ts';
import { HttpError, invalid, notFound } from '../../platform/http/http-error.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { nextRound, nextTurn } from '../../platform/turns.ts';
import { attachFiles } from '../attachments/attach-files.ts';
import { attachmentJson } from '../attachments/attachment-links.ts';
import { contentWithImages } from '../attachments/own-files.ts';
import { keepFiles, receiveUpload, type ReceivedFile } from '../attachments/receive-upload.ts';
import { attachments, type Attachment, type NewUpload } from '../attachments/attachment-store.ts';
import { audit, type Actor, type By } from '../audit/audit.ts';
import { notifyFollowers } from '../follows/follow-store.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { inTurn, preparePost } from '../posts/ingest-posts.ts';
import { changeablePost, mayManagePost, visibleFile, writableSource } from '../posts/post-access.ts';
import { posts, type WholePost, type PreparedPost } from '../posts/post-store.ts';
import { FORMATS, postTexts, type PostText } from '../posts/post-text-store.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { matchRules } from '../rules/apply-rules.ts';
import { requireContentRoom, withinContentQuota } from '../sources/content-quota.ts';
import { setRead } from '../reading/mark-read.ts';
import { guidOfForm, isSamePost, lateness, postOfForm, staleness } from './check-versions.ts';
import { drafts, type Draft, type Tab, type WithdrawnPost } from './draft-store.ts';
import { tabOf, takeDraftFiles } from './keep-draft.ts';
import { endDraft } from './withdraw-post.ts';
import { sanitizedText } from './written-text.ts';

export const POST_MAX = { title: 500, content: 400_000, url: 2_000 }; // characters

/** Maximum bytes of a JSON post: the most characters of content, each escaped as \u…, and the other fields. */
export const JSON_LIMIT = 2.5 * 1024 * 1024;

export async function createAttachments(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  changeablePost(hub, id, req.viewer); // the rights are checked before the hub reads megabytes
  const added = await receiveUpload(hub, req, ({ files }) => addFilesToPost(hub, id, files, req));
  return json({ items: added.map((attachment) => attachmentJson(hub, attachment)) }, 201);
}

export function deleteAttachment(hub: Hub, req: MemberRequest): Reply {
  removeFile(hub, pathId(req.params), req);
  return noContent();
}

/** A checked post. `text`: the new text of the post; null if a stored post keeps its text. */
type Written = { title: string; text: PostText | null; url: string | null; publishedAt: number };
type PostValues = Record<string, unknown>;

/** The new files of a post. `form`: the path of the form whose draft ends with the post; its files join the post. */
type Files = { files: ReceivedFile[]; form?: string };

export const NO_FILES: Files = { files: [] };

/**
 * Stores a post in a native source, read for its writer, and keeps its files if the post passes the checks. A form that
 * is sent twice makes one post.
 */
export async function writePost(hub: Hub, values: PostValues, { files, form }: Files, by: By): Promise<WholePost> {
  const post = await prepareNewPost(hub, values, by, form);
  await keepFiles(hub, files);
  return hub.db.write('create post', () => storeNewPost(hub, post, files, by, by));
}

type Author = Pick<By, 'viewer'>;

/** `draft`: what becomes the post of the `form`. `was`: the post that was taken back into the form's draft. */
type NewPost = {
  sourceId: number; written: Written; prepared: PreparedPost; form: string | undefined; tab: Tab;
  draft: Draft | undefined; was: WithdrawnPost | null;
  applying: Awaited<ReturnType<typeof matchRules>>;
};

/** Checks a new post and makes its HTML. */
export async function prepareNewPost(
  hub: Hub, values: PostValues, by: Author, form?: string, scheduled?: Draft,
): Promise<NewPost> {
  await nextTurn(); // lets other requests run, because parsing a long body took time
  const ofForm = form === undefined ? undefined : drafts(hub).find(by.viewer.id, form);
  const was = ofForm?.withdrawn ?? null;
  const now = hub.clock();
  const input = createInput(values);
  const sourceId = input.integer('sourceId', 1, Number.MAX_SAFE_INTEGER);
  const written = readWritten(input, { title: '', text: null, url: null, publishedAt: was?.publishedAt ?? now }, now);
  input.done();
  requireContentRoom(hub, writableSource(hub, sourceId, by.viewer).id);
  const guid = was?.guid ?? `urn:uuid:${randomUUID()}`;
  const prepared = await prepare(hub, { guid, contentHtml: '' }, written, by);
  const applying = await matchRules(hub, { id: sourceId }, was ? [] : [{ prepared }]);
  return { sourceId, written, prepared, form, tab: tabOf(values), draft: scheduled ?? ofForm, was, applying };
}

/** Stores a new post and ends its draft, in the caller's transaction. If the form is sent again, returns its post. */
export function storeNewPost(
  hub: Hub, post: NewPost, files: NewUpload[], { viewer }: Author, by: Actor | By,
): WholePost {
  const { sourceId, written, prepared, form, tab, draft, was, applying } = post;
  const late = form === undefined ? undefined : lateness(hub, viewer.id, form, tab);
  const published = late && form && postTexts(hub).postOfForm(viewer.id, form);
  const before = published && posts(hub).find(published);
  if (before && before.sourceId === sourceId && isSamePost(hub, before, prepared, written.text, files)) return before;
  if (late) throw late;
  if (draft && drafts(hub).find(viewer.id, draft.form)?.id !== draft.id) {
    throw new HttpError(409, 'This draft was published or discarded meanwhile.');
  }
  const source = writableSource(hub, sourceId, viewer);
  const guid = was || form === undefined ? prepared.guid : unusedGuid(hub, source.id, form, viewer) ?? prepared.guid;
  const stored = posts(hub).put(source.id, { ...prepared, guid }, hub.clock(), was ?? undefined);
  if (!stored) throw notFound('source');
  const text = written.text ?? { content: '', contentType: 'text/plain' };
  postTexts(hub).put(stored.id, viewer.id, text, form?.startsWith('/write/') ? form : null);
  const ofDraft = takeDraftFiles(hub, viewer.id, draft?.form ?? form);
  const isCounted = files.length === 0 && source.ownerId === viewer.id;
  attachFiles(hub, stored.id, source.ownerId, [...ofDraft, ...files], isCounted);
  if (form !== undefined) endDraft(hub, viewer.id, form, stored.id, draft);
  if (!was) counts(hub).add('posts_ingested_total', source.kind, 1);
  applying.arrived(source.id, [{ id: stored.id, prepared }]);
  if (!was) notifyFollowers(hub, source.id, (id) => 1 - applying.mutedFor(id), viewer.id);
  setRead(hub, viewer, stored.id, true);
  audit(hub, 'post.created', by, { kind: 'post', id: stored.id, name: written.title });
  return wholePost(hub, stored.id);
}

/** The guid for a form's post, which outlasts its deletion; undefined for /write, or if the form made a post before. */
function unusedGuid(hub: Hub, sourceId: number, form: string, { id }: Viewer): string | undefined {
  const guid = guidOfForm(id, form);
  // The last check finds a deleted post in a source of another owner, for whom an administrator has written the post.
  const isUsed = form === '/write' || postOfForm(hub, id, form) !== undefined
    || sourcePosts(hub).deletedAt([sourceId], guid) !== undefined;
  return isUsed ? undefined : guid;
}

/** Changes the given fields of a post. */
export async function rewritePost(
  hub: Hub, id: number, values: PostValues, { files, form }: Files, by: By,
): Promise<WholePost> {
  await nextTurn();
  const before = changeablePost(hub, id, by.viewer);
  const written = readChangedPost(values, { ...before, text: null }, hub.clock());
  const prepared = await prepare(hub, before, written, by);
  await keepFiles(hub, files);
  return hub.db.write('change post', () => {
    const stored = changeablePost(hub, id, by.viewer);
    const { sourceId, ownerId } = stored;
    const late = form === undefined ? undefined
      : lateness(hub, by.viewer.id, form, tabOf(values)) ?? staleness(hub, id, values['version']);
    if (late && isSamePost(hub, stored, prepared, written.text, files)) return stored;
    if (late) throw late;
    withinContentQuota(hub, sourceId, () => {
      posts(hub).put(sourceId, prepared, hub.clock());
      if (written.text) postTexts(hub).put(id, by.viewer.id, written.text);
      attachFiles(hub, id, ownerId, [...takeDraftFiles(hub, by.viewer.id, form), ...files]);
    });
    if (form !== undefined) endDraft(hub, by.viewer.id, form, id);
    audit(hub, 'post.changed', by, { kind: 'post', id, name: written.title });
    return wholePost(hub, id);
  });
}

/** API: returns the HTML that a post without files would show for a text. */
export async function previewText(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req, JSON_LIMIT);
  const contentHtml = await previewContent(hub, values, req);
  return json({ contentHtml: contentWithImages(hub, { contentHtml, attachments: [] }, hub.config.baseUrl) });
}

/** Returns the title and the content of a post, without storing the post. */
export async function previewPost(
  hub: Hub, values: PostValues, by: By,
): Promise<{ title: string; contentHtml: string }> {
  const before = { title: '', text: null, url: null, publishedAt: hub.clock() };
  const { title } = readChangedPost(values, before, hub.clock());
  return { title, contentHtml: await previewContent(hub, values, by) };
}

/** Returns the sanitised HTML of the text in the fields `content` and `contentType`; empty without `content`. */
export async function previewContent(hub: Hub, values: PostValues, { viewer }: By): Promise<string> {
  const input = createInput(values);
  const text = readText(input);
  input.done();
  if (text === undefined) return '';
  await nextTurn(); // lets other requests run, because parsing a long body took time
  return inTurn(hub, { length: text.content.length, accountOf: () => viewer.id }, () => sanitizedText(text));
}

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

/** Removes a file that the hub holds. Throws 403 if the viewer may only see it, 409 for a file at its publisher. */
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

/** Prepares a written post for storing; its hash includes the current time, so that the store never skips the post. */
function prepare(
  hub: Hub, before: Pick<WholePost, 'guid' | 'contentHtml'>, { text, ...written }: Written, { viewer }: Author,
): Promise<PreparedPost> {
  const { length } = text?.content ?? before.contentHtml;
  return inTurn(hub, { length, accountOf: () => viewer.id }, async () => {
    if (length > STEP) await nextRound(); // other requests run before a long text is sanitised
    const contentHtml = text ? await sanitizedText(text) : before.contentHtml;
    const now = hub.clock();
    const hashed = JSON.stringify({ ...written, contentHtml, now });
    const contentHash = createHash('sha256').update(hashed).digest('base64url');
    const rest = { author: null, language: null, baseUrl: '', summary: null, updatedAt: now, attachments: [] };
    return preparePost({ guid: before.guid, ...written, contentHtml, ...rest }, contentHash);
  });
}

function readChangedPost(values: PostValues, before: Written, now: number): Written {
  const input = createInput({ ...values, title: values['title'] ?? before.title });
  const written = readWritten(input, before, now);
  input.done();
  return written;
}

function readWritten(input: Input, before: Written, now: number): Written {
  const title = input.text('title', { max: POST_MAX.title });
  const text = readText(input) ?? null;
  const url = input.has('url') ? readUrl(input) : before.url;
  return { title, text, url, publishedAt: readTime(input, now) ?? before.publishedAt };
}

function readText(input: Input): PostText | undefined {
  const contentType = input.optionalChoice('contentType', FORMATS) ?? 'text/plain';
  if (!input.has('content')) return undefined;
  return { contentType, content: input.required('content', input.prose('content', POST_MAX.content)) ?? '' };
}

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
