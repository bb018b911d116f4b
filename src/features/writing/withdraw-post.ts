import { HttpError } from '../../platform/http/http-error.ts';
import { attachments } from '../attachments/attachment-store.ts';
import { draftFiles, type DraftFile } from '../attachments/draft-file-store.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { changeablePost } from '../posts/post-access.ts';
import { posts, type WholePost } from '../posts/post-store.ts';
import { postTexts } from '../posts/post-text-store.ts';
import { withdrawnStates } from '../reading/withdrawn-state-store.ts';
import { drafts, type Draft } from './draft-store.ts';
import { fieldsOfPost } from './fill-form.ts';
import { isSameText, keepDraft, newKey } from './keep-draft.ts';

const CHANGED = 'The post was changed just now, or has an unpublished change: publish or discard that first.';

/**
 * Takes a post back into a draft. The post's address answers 404 until the draft is published. Throws 403 unless the
 * viewer owns the source, 409 if the post has changed or has a draft of a change.
 */
export async function withdrawPost(hub: Hub, id: number, by: By): Promise<Draft> {
  const before = changeablePost(hub, id, by.viewer);
  const fields = { sourceId: String(before.sourceId), ...await fieldsOfPost(hub, before, by.viewer) };
  return hub.db.write('take back post', () => {
    const post = changeablePost(hub, id, by.viewer);
    if (post.ownerId !== by.viewer.id) throw new HttpError(403, 'Only the owner of the source can take it back.');
    const isChanged = post.updatedAt !== before.updatedAt || drafts(hub).find(by.viewer.id, `/posts/${id}/edit`);
    if (isChanged) throw new HttpError(409, CHANGED);
    const form = `/write/${newKey()}`;
    const publishedFrom = postTexts(hub).formOf(id);
    const draft = keepDraft(hub, by.viewer, form, { fields, tab: { name: newKey(), revision: undefined } });
    withdrawnStates(hub).keep(draft.id, id);
    posts(hub).withdraw(post.sourceId, post.guid);
    // The files have left the post before the draft gets them, so that the quota counts each only once.
    draftFiles(hub).add(draft.id, by.viewer.id, uploadsOf(post));
    const { guid, publishedAt, createdAt } = post;
    drafts(hub).setWithdrawn(draft.id, { id, guid, publishedAt, createdAt, form: publishedFrom });
    audit(hub, 'post.withdrawn', by, { kind: 'post', id, name: post.title });
    return draft;
  });
}

/** The form of the draft into which a post is taken back, also if the button was pressed twice. */
export function formOfWithdrawn(hub: Hub, id: number, by: By): Promise<string> {
  return withdrawPost(hub, id, by).then(({ form }) => form, (error: unknown) => {
    const taken = drafts(hub).formOfWithdrawn(by.viewer.id, id);
    if (taken === undefined) throw error;
    return taken;
  });
}

function uploadsOf({ attachments }: WholePost) {
  return attachments.flatMap(({ kind, scan, sha256, bytes, mediaType, ...file }) => {
    if (kind !== 'native' || sha256 === null || bytes === null || mediaType === null) return [];
    return [{ ...file, sha256, bytes, mediaType, scan: scan === 'clean' ? 'clean' as const : 'unscanned' as const }];
  });
}

/** Ends the draft of a form and its schedule after the form's post was stored, in the caller's transaction. */
export function endDraft(hub: Hub, accountId: number, form: string, postId: number, published?: Draft): void {
  const draft = drafts(hub).find(accountId, form);
  if (draft?.withdrawn) withdrawnStates(hub).bringBack(draft.id, postId);
  drafts(hub).endSchedule(accountId, form);
  if (draft && published && draft.id !== published.id) changePublished(hub, draft, published, postId);
  else drafts(hub).remove(accountId, form);
}

/** A draft beside the scheduled text now changes the post that this became, unless it is meant for another source. */
function changePublished(hub: Hub, draft: Draft, { fields }: Draft, postId: number): void {
  drafts(hub).endWithdrawn(draft.id);
  if (draft.fields['sourceId'] !== fields['sourceId']) return drafts(hub).moveTo(draft.id, `/write/${newKey()}`);
  const ofPost = attachments(hub).ofPosts([postId]);
  const isThere = (file: DraftFile): boolean =>
    ofPost.some(({ filename, sha256 }) => filename === file.filename && sha256 === file.sha256);
  const files = draftFiles(hub).ofDraft(draft.id);
  for (const { id } of files.filter(isThere)) draftFiles(hub).remove(draft.id, id);
  if (isSameText(draft.fields, fields) && files.every(isThere)) drafts(hub).remove(draft.accountId, draft.form);
  else drafts(hub).moveTo(draft.id, `/posts/${postId}/edit`);
}
