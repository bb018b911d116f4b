import { showImages } from '../../platform/markup/remote-media.ts';
import type { PostAttachment, PostWithAttachments } from './post-store.ts';

/** Where files are served, and whether the hub keeps copies of publishers' files, so that readers load those too. */
export type Serving = { baseUrl: string; keepsRemoteFiles: boolean };

/** Of what the hub keeps copies: see recognise-content. Sounds and films stay links to their publisher. */
const KEPT_TYPE = /^(?:image\/(?:png|jpeg|jpg|pjpeg|gif|webp|avif)|application\/pdf)$/i;
const KEPT_NAME = /\.(?:png|jpe?g|jfif|gif|webp|avif|pdf)$/i;

/** The path at the hub under which a file is served, or null for one that only its publisher has. */
export function hubPath(attachment: PostAttachment, { keepsRemoteFiles }: Serving): string | null {
  const { id, kind, filename, isInline, mediaType } = attachment;
  const isKept = isInline === 1 || (mediaType === null ? KEPT_NAME.test(filename) : KEPT_TYPE.test(mediaType));
  if (kind === 'remote' && !(keepsRemoteFiles && isKept)) return null;
  return `/attachments/${id}/${encodeURIComponent(filename)}`;
}

/** The files to list beside a post: neither images within it nor what is in quarantine. */
export function listedAttachments({ attachments }: PostWithAttachments): PostAttachment[] {
  return attachments.filter(({ isInline, scan }) => isInline === 0 && scan !== 'infected');
}

/** The post's content with its images, which are loaded from the hub; `origin` goes before their paths. */
export function contentWithImages({ contentHtml, attachments }: PostWithAttachments, serving: Serving, origin = '') {
  const byUrl = new Map(attachments.map((attachment) => [attachment.remoteUrl, attachment]));
  return showImages(contentHtml, (url) => {
    const attachment = byUrl.get(url);
    const path = attachment && hubPath(attachment, serving);
    return path ? origin + path : undefined;
  });
}
