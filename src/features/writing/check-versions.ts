import { HttpError } from '../../platform/http/reply.ts';
import type { NewUpload } from '../attachments/attachment-store.ts';
import type { Hub } from '../hub/hub.ts';
import { posts, type PreparedPost, type WholePost } from '../posts/post-store.ts';
import { postTexts, type PostText } from '../posts/post-text-store.ts';
import { drafts, type Tab } from './draft-store.ts';

/**
 * Returns the state of a form: the revision of its draft; without a draft, minus the id of the post that was published
 * from the form, or 0. If a browser tab has an older state, another tab saved, published or discarded the draft.
 */
export function revisionOf(hub: Hub, accountId: number, form: string): number {
  const revision = drafts(hub).find(accountId, form)?.revision;
  if (revision !== undefined) return revision;
  const { postId = 0 } = drafts(hub).takenBackFrom(accountId, form) ?? {};
  return 0 - (postTexts(hub).postOfForm(accountId, form) ?? postId);
}

/**
 * Returns an error 409 if another tab has saved, published or discarded the draft since this tab loaded or saved the
 * draft. A tab that saved the draft last may save it again, because the answer to its last save may have been lost.
 */
export function lateness(hub: Hub, accountId: number, form: string, { name, revision }: Tab): HttpError | undefined {
  const current = revisionOf(hub, accountId, form);
  const isNewest = revision === undefined || revision === current;
  if (isNewest || drafts(hub).find(accountId, form)?.savedBy === name) return undefined;
  const detail = current > 0 ? 'This draft was changed in another tab. Your text in this form is not saved.'
    : current < 0 && postTexts(hub).postOfForm(accountId, form) === undefined
      ? 'The post of this form was taken back into a draft. This form would publish a second post.'
    : current < 0 ? 'This form has already published a post. The changed text of this form would be a second post.'
    : 'This draft was published or discarded in another tab. Your text in this form is not saved.';
  return new HttpError(409, detail, { members: { revision: current } });
}

/** Returns an error 409 if a post has changed since a form with its fields was shown. */
export function staleness(hub: Hub, id: number, version: unknown): HttpError | undefined {
  const current = posts(hub).versionOf(id);
  if (version === undefined || version === current) return undefined;
  const detail = 'This post was changed after this form was opened. Your text has not replaced the changed text.';
  return new HttpError(409, detail, { members: { version: current } });
}

/** Whether a stored post has this text and these files. */
export function isSamePost(
  hub: Hub, stored: WholePost, { title, url }: PreparedPost, text: PostText | null, files: NewUpload[],
): boolean {
  const before = postTexts(hub).find(stored.id);
  return stored.title === title && stored.url === url
    && before?.content === text?.content && before?.contentType === text?.contentType
    && files.every(({ sha256 }) => stored.attachments.some((attachment) => attachment.sha256 === sha256));
}
