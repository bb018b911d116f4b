import { createHash } from 'node:crypto';
import { HttpError } from '../../platform/http/http-error.ts';
import type { NewUpload } from '../attachments/attachment-store.ts';
import type { Hub } from '../hub/hub.ts';
import { posts, type PreparedPost, type WholePost } from '../posts/post-store.ts';
import { postTexts, type PostText } from '../posts/post-text-store.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { manySources } from '../sources/source-store.ts';
import { drafts, type Tab } from './draft-store.ts';

/** A post published from a form. `mark`: the post's id, or for a deleted post the time of deletion (unix ms). */
type PostOfForm = { state: 'published' | 'taken back' | 'deleted'; mark: number };

/** Returns the post that was published from a form of an account, if any; of several posts, the newest. */
export function postOfForm(hub: Hub, accountId: number, form: string): PostOfForm | undefined {
  const published = postTexts(hub).postOfForm(accountId, form);
  if (published !== undefined) return { state: 'published', mark: published };
  const takenBack = drafts(hub).takenBackFrom(accountId, form);
  if (takenBack) return { state: 'taken back', mark: takenBack.postId };
  const places = manySources(hub).nativeOf(accountId).map(({ id }) => id);
  const deletedAt = sourcePosts(hub).deletedAt(places, guidOfForm(accountId, form));
  return deletedAt === undefined ? undefined : { state: 'deleted', mark: deletedAt };
}

/** The guid of the first post published from a form; the tombstone of a deleted post keeps it. */
export function guidOfForm(accountId: number, form: string): string {
  const hash = createHash('sha256').update(`post of ${accountId} from ${form}`).digest('hex');
  return `urn:uuid:${hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5')}`; // UUIDv8 (RFC 9562)
}

/**
 * Returns the state of a form: the revision of its draft; without a draft, a number below 0 if a post was published
 * from the form, or else 0. If a browser tab has another state, the draft was saved, published or discarded meanwhile.
 */
export function revisionOf(hub: Hub, accountId: number, form: string): number {
  const revision = drafts(hub).find(accountId, form)?.revision;
  return revision ?? 0 - (postOfForm(hub, accountId, form)?.mark ?? 0);
}

/** Why a form is refused whose post was published, by what has become of the post. */
const PUBLISHED: Record<PostOfForm['state'], string> = {
  'published': 'This form has already published a post. Sending it again would publish a second one.',
  'taken back': 'The post of this form was taken back into a draft. Sending it again would make a second post.',
  'deleted': 'The post of this form was deleted. Sending it again would publish the post once more.',
};

/**
 * Returns an error 409 if the draft was saved, published or discarded since this tab loaded or saved it. A tab that
 * saved it last may save it again, because the answer to its last save may have been lost.
 */
export function lateness(hub: Hub, accountId: number, form: string, { name, revision }: Tab): HttpError | undefined {
  const current = revisionOf(hub, accountId, form);
  const isNewest = revision === undefined || revision === current;
  if (isNewest || drafts(hub).find(accountId, form)?.savedBy === name) return undefined;
  const post = current < 0 ? postOfForm(hub, accountId, form) : undefined;
  const detail = current > 0 ? 'This draft was changed in another tab. Your text here is not saved.'
    : post ? PUBLISHED[post.state]
    : 'This draft was published or discarded in another tab. Your text here is not saved.';
  return new HttpError(409, detail, { members: { revision: current } });
}

/** Returns an error 409 if a post no longer has the `version` that it had when its form was shown. */
export function staleness(hub: Hub, id: number, version: string | undefined): HttpError | undefined {
  const current = posts(hub).versionOf(id);
  if (version === undefined || version === current) return undefined;
  const detail = 'The post was changed after you opened this form. Your text has not replaced the newer one.';
  return new HttpError(409, detail, { members: { version: current } });
}

/** Whether a stored post has this text and these files, perhaps among others. */
export function isSamePost(
  hub: Hub, stored: WholePost, { title, url }: PreparedPost, text: PostText | null, files: NewUpload[],
): boolean {
  const before = postTexts(hub).find(stored.id);
  return stored.title === title && stored.url === url
    && before?.content === text?.content && before?.contentType === text?.contentType
    && files.every(({ sha256 }) => stored.attachments.some((attachment) => attachment.sha256 === sha256));
}
