import type { PostAttachment, PostWithAttachments } from './post-store.ts';
import { contentWithImages, hubPath, listedAttachments, type Serving } from './served-attachments.ts';

/** A post as the API shows it. */
export function postJson(post: PostWithAttachments, serving: Serving) {
  return {
    id: post.id,
    source: { id: post.sourceId, title: post.sourceTitle, kind: post.sourceKind },
    title: post.title,
    url: post.url,
    author: post.author,
    contentHtml: contentWithImages(post, serving, serving.baseUrl),
    summary: post.summary,
    publishedAt: new Date(post.publishedAt).toISOString(),
    updatedAt: new Date(post.updatedAt).toISOString(),
    visibility: post.isPublic === 1 ? 'public' : 'private',
    attachments: listedAttachments(post).map((attachment) => attachmentJson(attachment, serving)),
  };
}

/** An attachment as the API shows it. */
export function attachmentJson(attachment: PostAttachment, serving: Serving) {
  const { id, kind, filename, mediaType, bytes, sha256, scan } = attachment;
  const url = addressOf(attachment, serving);
  return { id, kind, filename, mediaType, bytes, sha256, url, scan: scan ?? 'unscanned' };
}

/** Where a reader gets the file: from the hub, or from its publisher. */
export function addressOf(attachment: PostAttachment, serving: Serving): string | null {
  const path = hubPath(attachment, serving);
  return path === null ? attachment.remoteUrl : serving.baseUrl + path;
}
