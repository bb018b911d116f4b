import { createHash, randomUUID } from 'node:crypto';
import type { Given } from '../../platform/http/fields.ts';
import { HttpError, invalid, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { nextRound, nextTurn } from '../../platform/turns.ts';
import { attachFiles } from '../attachments/attach-files.ts';
import { keepFiles, type ReceivedFile } from '../attachments/receive-upload.ts';
import { attachments, type Attachment, type NewUpload } from '../attachments/attachment-store.ts';
import { audit, type Actor, type By } from '../audit/audit.ts';
import { notifyFollowers } from '../follows/follow-store.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { inTurn, preparePost } from '../posts/ingest-posts.ts';
import { changeablePost, mayManagePost, visibleFile, writableSource } from '../posts/post-access.ts';
import { posts, type WholePost, type PreparedPost } from '../posts/post-store.ts';
import { postTexts, type PostText } from '../posts/post-text-store.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { matchRules } from '../rules/apply-rules.ts';
import { requireContentRoom, withinContentQuota } from '../sources/content-quota.ts';
import { setRead } from '../reading/mark-read.ts';
import { guidOfForm, isSamePost, lateness, postOfForm, staleness } from './check-versions.ts';
import { drafts, type Draft, type Tab, type WithdrawnPost } from './draft-store.ts';
import { takeDraftFiles } from './keep-draft.ts';
import { postText, type ChangeFields, type PostFields, type TEXT_FIELDS } from './post-fields.ts';
import { endDraft } from './withdraw-post.ts';
import { sanitizedText } from './written-text.ts';

/** What is stored of a post. `text`: null if a stored post keeps its text. */
type Written = { title: string; text: PostText | null; url: string | null; publishedAt: number };

/** What a form knows of its draft, which ends with the post. `version`: of the post that it changes. */
export type SentForm = { path: string; tab: Tab; version?: string | undefined };

/** What comes beside the fields of a post. */
export type Beside = { files: ReceivedFile[]; form?: SentForm };

/**
 * Stores a post in a native source, read for its writer, and keeps its files if the post passes the checks. A form that
 * is sent twice makes one post.
 */
export async function writePost(hub: Hub, given: PostFields, { files, form }: Beside, by: By): Promise<WholePost> {
  const post = await prepareNewPost(hub, given, by, form);
  await keepFiles(hub, files);
  return hub.db.write('create post', () => storeNewPost(hub, post, files, by, by));
}

type Author = Pick<By, 'viewer'>;

/** `draft`: what becomes the post of the `form`. `was`: the post that was taken back into the form's draft. */
type NewPost = {
  sourceId: number; written: Written; prepared: PreparedPost; form: SentForm | undefined;
  draft: Draft | undefined; was: WithdrawnPost | null;
  applying: Awaited<ReturnType<typeof matchRules>>;
};

/** Checks a new post and makes its HTML. */
export async function prepareNewPost(
  hub: Hub, given: PostFields, by: Author, form?: SentForm, scheduled?: Draft,
): Promise<NewPost> {
  await nextTurn(); // lets other requests run, because parsing a long body took time
  const ofForm = form && drafts(hub).find(by.viewer.id, form.path);
  const was = ofForm?.withdrawn ?? null;
  const { sourceId } = given;
  requireContentRoom(hub, writableSource(hub, sourceId, by.viewer).id);
  const written = changed({ title: '', url: null, publishedAt: was?.publishedAt ?? hub.clock() }, given);
  const guid = was?.guid ?? `urn:uuid:${randomUUID()}`;
  const prepared = await prepare(hub, { guid, contentHtml: '' }, written, by);
  const applying = await matchRules(hub, { id: sourceId }, was ? [] : [{ prepared }]);
  return { sourceId, written, prepared, form, draft: scheduled ?? ofForm, was, applying };
}

/** Stores a new post and ends its draft, in the caller's transaction. If the form is sent again, returns its post. */
export function storeNewPost(
  hub: Hub, post: NewPost, files: NewUpload[], { viewer }: Author, by: Actor | By,
): WholePost {
  const { sourceId, written, prepared, form: { path: form, tab } = {}, draft, was, applying } = post;
  const late = form && tab && lateness(hub, viewer.id, form, tab);
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
  hub: Hub, id: number, changes: ChangeFields, { files, form }: Beside, by: By,
): Promise<WholePost> {
  await nextTurn();
  const before = changeablePost(hub, id, by.viewer);
  const written = changed(before, changes);
  const prepared = await prepare(hub, before, written, by);
  await keepFiles(hub, files);
  return hub.db.write('change post', () => {
    const stored = changeablePost(hub, id, by.viewer);
    const { sourceId, ownerId } = stored;
    const late = form && (lateness(hub, by.viewer.id, form.path, form.tab) ?? staleness(hub, id, form.version));
    if (late && isSamePost(hub, stored, prepared, written.text, files)) return stored;
    if (late) throw late;
    withinContentQuota(hub, sourceId, () => {
      posts(hub).put(sourceId, prepared, hub.clock());
      if (written.text) postTexts(hub).put(id, by.viewer.id, written.text);
      attachFiles(hub, id, ownerId, [...takeDraftFiles(hub, by.viewer.id, form?.path), ...files]);
    });
    if (form) endDraft(hub, by.viewer.id, form.path, id);
    audit(hub, 'post.changed', by, { kind: 'post', id, name: written.title });
    return wholePost(hub, id);
  });
}

/** The sanitised HTML of a text; empty without content. */
export async function previewContent(hub: Hub, given: Given<typeof TEXT_FIELDS>, { viewer }: By): Promise<string> {
  const text = postText(given);
  if (text === undefined) return '';
  await nextTurn(); // lets other requests run, because parsing a long body took time
  return inTurn(hub, { length: text.content.length, accountOf: () => viewer.id }, () => sanitizedText(text));
}

export async function addFilesToPost(hub: Hub, id: number, files: ReceivedFile[], by: By): Promise<Attachment[]> {
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

function changed(before: Omit<Written, 'text'>, changes: ChangeFields): Written {
  const { title = before.title, url = before.url, publishedAt = before.publishedAt } = changes;
  return { title, text: postText(changes) ?? null, url, publishedAt };
}
