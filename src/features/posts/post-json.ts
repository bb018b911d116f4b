import type { PostAttachment, PostWithAttachments } from './post-store.ts';

/** A post as the API shows it. */
export function postJson(post: PostWithAttachments) {
  return {
    id: post.id,
    source: { id: post.sourceId, title: post.sourceTitle, kind: post.sourceKind },
    title: post.title,
    url: post.url,
    author: post.author,
    contentHtml: post.contentHtml,
    summary: post.summary,
    publishedAt: new Date(post.publishedAt).toISOString(),
    updatedAt: new Date(post.updatedAt).toISOString(),
    visibility: post.isPublic === 1 ? 'public' : 'private',
    attachments: post.attachments.map(attachmentJson),
  };
}

function attachmentJson({ id, kind, filename, mediaType, bytes, sha256, remoteUrl }: PostAttachment) {
  return { id, kind, filename, mediaType, bytes, sha256, url: remoteUrl, scan: 'unscanned' as const };
}
