import { hash } from 'node:crypto';
import { DAY } from '../../platform/clock.ts';
import type { Shown } from '../../platform/http/fields.ts';
import { imageAddresses } from '../../platform/markup/remote-media.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { contentWithImages } from '../attachments/own-files.ts';
import { recordReading } from '../hub/disk-reserve.ts';
import type { Hub } from '../hub/hub.ts';
import type { WholePost } from '../posts/post-store.ts';
import type { FULL_TEXT } from '../posts/query-posts.ts';
import { describeFullText, type FullTextState } from './explain-full-text.ts';
import { hasFullTexts } from './fetch-full-text.ts';
import { fullTexts } from './full-text-store.ts';
import { sourceFullTexts } from './source-full-text-store.ts';

export type WhichText = 'full' | 'feed';

/** A post with the text that a member reads. `wanted`: the text that the member chose, else the source's usual one. */
export type ShownText<Shown> = { post: Shown; which: WhichText; wanted: WhichText; fullText: FullTextState };

/** Pages and apps show at most this many pictures of a full text; the limit is the same for a post's content. */
const PICTURES = 200;

const PICTURE_HASH = 40; // characters

/** Without a choice (`?text=`), sources that always have full texts show them. Null if no full text is possible. */
export function chooseText<Shown extends WholePost>(
  hub: Hub, post: Shown, choice: string | null,
): ShownText<Shown> | null {
  if (!hasFullTexts(hub) || post.url === null) return null;
  const fullText = describeFullText(fullTexts(hub).find(post.id));
  const usual = sourceFullTexts(hub).find(post.sourceId).isAlways === 1 ? 'full' : 'feed';
  const wanted = choice === 'full' || choice === 'feed' ? choice : usual;
  const text = wanted === 'full' ? fullTexts(hub).contentOf(post.id) : undefined;
  if (text === undefined) return { post, which: 'feed', wanted, fullText };
  return { post: withFullText(post, text), which: 'full', wanted, fullText };
}

/** For members, in the API. Notes the use: full texts that nobody reads are evicted first. */
export function fullTextJson(hub: Hub, post: WholePost): Shown<typeof FULL_TEXT> {
  if (!hasFullTexts(hub)) return { state: 'none' };
  const text = fullTexts(hub).contentOf(post.id);
  const state = describeFullText(fullTexts(hub).find(post.id));
  if (text === undefined) return state;
  recordReading(hub, () => fullTexts(hub).noteUse([post.id], DAY));
  return { ...state, contentHtml: contentWithImages(hub, withFullText(post, text), hub.config.baseUrl) };
}

/** The post with the full text as its content, and with the pictures of that text. */
export function withFullText<Shown extends Pick<WholePost, 'id' | 'contentHtml' | 'attachments'>>(
  post: Shown, text: string,
): Shown {
  const listed = post.attachments.filter(({ isInline }) => isInline === 0);
  return { ...post, contentHtml: text, attachments: [...listed, ...picturesOf(post.id, text)] };
}

/** The pictures of a full text, which the hub serves at addresses of their own, only to members. */
function picturesOf(postId: number, text: string): Attachment[] {
  return imageAddresses(text).slice(0, PICTURES).map((remoteUrl, index) => ({
    id: -1 - index, urlKey: '', postId, kind: 'remote', filename: 'picture', mediaType: null, bytes: null, sha256: null,
    remoteUrl, title: null, durationSeconds: null, isInline: 1, scan: null, width: null, height: null,
    servedAt: `/full-texts/${postId}/${pictureHash(remoteUrl)}`,
  }));
}

/** The picture's address at its publisher, by its `pictureHash`; undefined if the full text has none such. */
export function findPicture(hub: Hub, postId: number, wanted: string): string | undefined {
  const shown = imageAddresses(fullTexts(hub).contentOf(postId) ?? '').slice(0, PICTURES);
  return shown.find((url) => pictureHash(url) === wanted);
}

function pictureHash(url: string): string {
  return hash('sha256', url).slice(0, PICTURE_HASH);
}
