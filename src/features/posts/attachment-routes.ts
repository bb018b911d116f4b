import { pathId } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import { noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { openRemoteFile } from '../attachments/remote-cache.ts';
import { serveFile, type ServedFile } from '../attachments/serve-file.ts';
import { uploadFiles } from '../attachments/upload-files.ts';
import { actorOf, audit } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManagePost, maySeePost } from './post-access.ts';
import { posts } from './post-store.ts';

export async function showAttachment(hub: Hub, req: HubRequest): Promise<Reply> {
  const { attachment, post } = visible(hub, addressed(hub, req), req);
  const isPublic = post.isPublic === 1;
  const { remoteUrl, sha256, mediaType, bytes, filename, scan } = attachment;
  if (remoteUrl !== null) return serveRemote(hub, remoteUrl, { filename, isPublic }, req);
  if (scan === 'infected') throw new HttpError(410, 'This file is infected and has been quarantined.');
  if (sha256 === null || mediaType === null || bytes === null) throw notFound('file');
  return serveFile({ path: uploadFiles(hub).pathOf(sha256), sha256, bytes, mediaType, filename, isPublic }, req);
}

export function deleteAttachment(hub: Hub, req: MemberRequest): Reply {
  detach(hub, req);
  return noContent();
}

export function submitDeleteAttachment(hub: Hub, req: MemberRequest): Reply {
  return seeOther(`/posts/${detach(hub, req).postId}`);
}

/** Takes an uploaded file off its post; 403 for who may only see it, 409 for a publisher's file. */
function detach(hub: Hub, req: MemberRequest): Attachment {
  const { attachment, post } = visible(hub, attachments(hub).find(pathId(req.params)), req);
  const { id, filename, remoteUrl } = attachment;
  if (!mayManagePost(post, req.viewer)) throw new HttpError(403, 'Only the owner of the source can remove its files.');
  if (remoteUrl !== null) throw new HttpError(409, 'This file is part of its publisher’s post.');
  hub.db.write('remove attachment', () => {
    attachments(hub).detach(id);
    audit(hub, 'attachment.deleted', actorOf(req), { kind: 'attachment', id, name: filename });
  });
  return attachment;
}

/** What an address such as /attachments/7-0123456789abcdef/owl.png names; undefined where its random part is wrong. */
function addressed(hub: Hub, { params }: HubRequest): Attachment | undefined {
  const [, id = '', urlKey = ''] = /^(\d+)-([0-9a-f]+)$/.exec(params['key'] ?? '') ?? [];
  const found = attachments(hub).find(pathId({ id }));
  return found?.urlKey === urlKey ? found : undefined;
}

function visible(hub: Hub, attachment: Attachment | undefined, { viewer }: HubRequest) {
  const post = attachment && posts(hub).accessOf(attachment.postId);
  if (!attachment || !post || !maySeePost(hub, post, viewer)) throw notFound('file');
  return { attachment, post };
}

/** Once more where the copy makes room for others just before it is opened. */
async function serveRemote(
  hub: Hub, url: string, about: Pick<ServedFile, 'filename' | 'isPublic'>, req: HubRequest,
): Promise<Reply> {
  const content = await openRemoteFile(hub, url);
  return serveFile({ ...content, ...about }, req).catch(async (error: unknown) => {
    if (!(error instanceof HttpError && error.status === 404)) throw error;
    return serveFile({ ...await openRemoteFile(hub, url), ...about }, req);
  });
}
