import { isoTime } from '../../platform/clock.ts';
import { showImages } from '../../platform/markup/remote-media.ts';
import { attachmentJson, attachmentPath, listedAttachments, type LinkHub } from '../attachments/attachment-json.ts';
import type { PostWithAttachments } from './post-store.ts';

/** A post as the API shows it. */
export function postJson(hub: LinkHub, post: PostWithAttachments) {
  return {
    id: post.id,
    source: { id: post.sourceId, title: post.sourceTitle, kind: post.sourceKind },
    title: post.title,
    url: post.url,
    author: post.author,
    contentHtml: contentWithImages(hub, post, hub.config.baseUrl),
    summary: post.summary,
    publishedAt: isoTime(post.publishedAt),
    updatedAt: isoTime(post.updatedAt),
    visibility: post.isPublic === 1 ? 'public' : 'private',
    attachments: listedAttachments(post.attachments).map((attachment) => attachmentJson(hub, attachment)),
  };
}

/** The post's content with its images, which are loaded from the hub; `origin` goes before their paths. */
export function contentWithImages(
  hub: LinkHub, { contentHtml, attachments }: PostWithAttachments, origin: string,
): string {
  const byUrl = new Map(attachments.map((attachment) => [attachment.remoteUrl, attachment]));
  return showImages(contentHtml, (url) => {
    const attachment = byUrl.get(url);
    const path = attachment && attachmentPath(hub, attachment);
    return path ? origin + path : undefined;
  });
}
