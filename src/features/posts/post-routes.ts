import { isoTime } from '../../platform/clock.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, noContent, notFound, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { attachmentJson, listedAttachments, type LinkHub } from '../attachments/attachment-links.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { KEPT_ONLY } from '../attachments/post-pictures.ts';
import { openKeptFile, openRemoteFile } from '../attachments/remote-cache.ts';
import { contentWithImages, serveFile, type ServedFile } from '../attachments/serve-file.ts';
import { uploadFiles } from '../attachments/upload-files.ts';
import type { Hub } from '../hub/hub.ts';
import { deletePostForGood, visibleFile } from './post-access.ts';
import type { PostAccess, WholePost } from './post-store.ts';

export function deletePost(hub: Hub, req: MemberRequest): Reply {
  deletePostForGood(hub, pathId(req.params), req);
  return noContent();
}

export async function showAttachment(hub: Hub, req: HubRequest): Promise<Reply> {
  const { attachment, post } = visibleFile(hub, addressed(hub, req), req.viewer);
  const isPublic = post.isPublic === 1;
  const { remoteUrl, sha256, mediaType, bytes, filename, scan } = attachment;
  const about = { filename, isPublic };
  if (remoteUrl !== null && req.query.has(KEPT_ONLY)) {
    return serveFile({ ...await openKeptFile(hub, remoteUrl), ...about }, req);
  }
  if (remoteUrl !== null) return serveRemote(hub, remoteUrl, post, about, req);
  if (scan === 'infected') throw new HttpError(410, 'This file is infected and has been quarantined.');
  if (sha256 === null || mediaType === null || bytes === null) throw notFound('file');
  return serveFile({ path: uploadFiles(hub).pathOf(sha256), sha256, bytes, mediaType, ...about }, req);
}

/** What an address such as /attachments/7-0123456789abcdef/owl.png names; undefined where its random part is wrong. */
function addressed(hub: Hub, { params }: HubRequest): Attachment | undefined {
  const [, id = '', urlKey = ''] = /^(\d+)-([0-9a-f]+)$/.exec(params['key'] ?? '') ?? [];
  const found = attachments(hub).find(pathId({ id }));
  return found?.urlKey === urlKey ? found : undefined;
}

/** Fetches the file once more where the copy was evicted just before it is opened. */
async function serveRemote(
  hub: Hub, url: string, post: PostAccess, about: Pick<ServedFile, 'filename' | 'isPublic'>, req: HubRequest,
): Promise<Reply> {
  const content = await openRemoteFile(hub, url, post);
  return serveFile({ ...content, ...about }, req).catch(async (error: unknown) => {
    if (!(error instanceof HttpError && error.status === 404)) throw error;
    return serveFile({ ...await openRemoteFile(hub, url, post), ...about }, req);
  });
}

/** A post as the API shows it. */
export function postJson(hub: LinkHub, post: WholePost) {
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
