import { addPlace, addText, enterCell, hasRoom, openDropped } from './element-nesting.ts';
import type { Attributes } from './html-tokenizer.ts';
import { element, isSilent, open, replaceImage, writeFile } from './markup-draft.ts';
import {
  authorsLabel, givenLabel, imageCandidates, imageTitle, isLazy, isTracker, isTrackingFrame, largestImage, shownFile,
  statedSize,
} from './remote-media.ts';
import type { FileLink, MarkupDraft, OpenElement } from './markup-draft.ts';

const EMOJI_CLASS = /(?:^|\s)(?:emoji|wp-smiley)(?:\s|$)/;
const MAX_EMOJI_LENGTH = 20;

export type Tag = { name: string; attributes: Attributes };

/** Adds a link to an image, or its words if it is an emoji or has no address; leaves out what only counts readers. */
export function addImage(
  draft: MarkupDraft, { attributes }: Pick<Tag, 'attributes'>, isSubstitute = false,
): void {
  if (isSilent(draft)) return;
  const parent = draft.stack.at(-1);
  const offered = parent?.kind === 'picture' ? parent.candidates.splice(0) : [];
  const url = largestImage([...imageCandidates(attributes), ...offered], draft.baseUrl);
  const label = givenLabel(attributes.get('alt')) || givenLabel(attributes.get('aria-label'));
  if (isEmoji(attributes, label)) return addText(draft, label);
  if (!draft.isOwn && isTracker(attributes, url) || isSubstituted(draft, url)) return;
  addPlace(draft, attributes);
  const [file, written] = [url && imageFile(attributes, label, url), draft.chunks.length];
  if (file === undefined) addText(draft, label);
  else addFile(draft, file);
  const chunk = draft.chunks.length > written ? draft.chunks.length - 1 : -1;
  draft.image = { attributes, file, chunk, content: draft.content, isSubstitute };
}

/** Whether the image was written from a `noscript` just before it. */
function isSubstituted({ image, content }: MarkupDraft, url: URL | undefined): boolean {
  const isJustBefore = image?.isSubstitute === true && image.content === content;
  return isJustBefore && url !== undefined && image.file?.url.href === url.href;
}

function imageFile(attributes: Attributes, label: string, url: URL): FileLink {
  const title = imageTitle(attributes, label, url);
  const isOrnament = label === '' && attributes.has('alt');
  return { url, label, isImage: true, size: statedSize(attributes), title, isOrnament };
}

/**
 * Adds a frame or an image of a `noscript`. Directly behind an image that stood in none, an image takes its place if
 * that waits for a script, and is left out otherwise.
 */
export function addSubstitute(draft: MarkupDraft, name: string, attributes: Attributes): void {
  if (name === 'iframe') return addFrame(draft, { name, attributes });
  const url = name === 'img' ? largestImage(imageCandidates(attributes), draft.baseUrl) : undefined;
  const { image } = draft;
  if (url === undefined || image?.file?.url.href === url.href) return;
  if (!draft.isOwn && isTracker(attributes, url)) return;
  const isAlone = image === undefined || image.content !== draft.content || image.isSubstitute;
  if (isAlone) return addImage(draft, { attributes }, true);
  if (!isLazy(image.attributes)) return;
  const label = givenLabel(attributes.get('alt')) || givenLabel(image.attributes.get('alt'));
  const file = imageFile(attributes, label, url);
  if (!replaceImage(draft, image, file)) addFile(draft, file);
  draft.image = { ...image, file, content: draft.content, isSubstitute: true };
}

function isEmoji(attributes: Attributes, label: string): boolean {
  return label !== '' && label.length <= MAX_EMOJI_LENGTH && EMOJI_CLASS.test(attributes.get('class') ?? '');
}

function addFile(draft: MarkupDraft, file: FileLink): void {
  enterCell(draft);
  writeFile(draft, file);
}

/** Begins a `picture`, whose sources wait for its image. */
export function startPicture(draft: MarkupDraft, { name }: Tag): void {
  if (hasRoom(draft, 'picture')) open(draft, element(name, '', 'picture', ''));
}

/** Offers the file of a `source` to the `picture`, `audio`, `video` or `object` directly around it. */
export function addPictureSource(draft: MarkupDraft, tag: Tag): void {
  const parent = draft.stack.at(-1);
  if (parent?.kind === 'picture') parent.candidates.push(...imageCandidates(tag.attributes));
  else offerSource(draft, parent, tag);
}

function offerSource(draft: MarkupDraft, parent: OpenElement | undefined, tag: Tag): void {
  if (parent?.kind !== 'media' || parent.source !== undefined || draft.stack.length - 1 !== draft.droppedFrom) return;
  parent.source = remoteFile(draft, tag);
}

/** Adds a link to what a frame shows, if it is no tracker; in an `object` or the like, offers it as its file. */
export function addFrame(draft: MarkupDraft, tag: Tag): void {
  if (isSilent(draft)) return offerSource(draft, draft.stack.at(-1), tag);
  const file = remoteFile(draft, tag);
  if (file === undefined || isTrackingFrame(tag.attributes, file.url)) return;
  const { frame } = draft;
  if (frame?.href === file.url.href && frame.content === draft.content) return; // once more, in a `noscript`
  addFile(draft, file);
  draft.frame = { href: file.url.href, content: draft.content };
}

/** Begins an `audio`, `video` or `object`: a link to its file takes its place; its content is not written. */
export function startMedia(draft: MarkupDraft, tag: Tag): void {
  enterCell(draft);
  const media = element(tag.name, tag.name, 'media', '');
  if (!isSilent(draft)) media.source = remoteFile(draft, tag);
  openDropped(draft, media);
}

function remoteFile(draft: MarkupDraft, { name, attributes }: Tag): FileLink | undefined {
  const url = shownFile(name, attributes, draft.baseUrl);
  return url && { url, label: authorsLabel(attributes) || givenLabel(attributes.get('playlabel')), isImage: false };
}

/** A checkbox in a list item becomes text, an input of type `image` an image; other inputs go. */
export function addInput(draft: MarkupDraft, { attributes }: Tag): void {
  const type = attributes.get('type')?.toLowerCase();
  if (type === 'image') return addImage(draft, { attributes });
  if (type !== 'checkbox' || !draft.stack.some(({ kind }) => kind === 'item')) return;
  addText(draft, attributes.has('checked') ? '☑' : '☐');
}
