import { readJson } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { attachmentJson } from '../attachments/attachment-links.ts';
import { firstValues, isMultipart, receiveUpload } from '../attachments/receive-upload.ts';
import type { Hub } from '../hub/hub.ts';
import { changeablePost } from '../posts/post-access.ts';
import { postJson } from '../posts/query-posts.ts';
import { addFilesToPost, removeFile, rewritePost, writePost } from './write-post.ts';

/** Bytes. 400,000 characters of a post, each written as \u…, and its other members. */
const JSON_LIMIT = 2.5 * 1024 * 1024;

export async function createPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = isMultipart(req)
    ? await receiveUpload(hub, req, ({ fields, files }) => writePost(hub, firstValues(fields), files, req))
    : await writePost(hub, await readJson(req, JSON_LIMIT), [], req);
  return json(postJson(hub, post), 201, { location: `${hub.config.baseUrl}/api/posts/${post.id}` });
}

export async function changePost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req, JSON_LIMIT);
  return json(postJson(hub, await rewritePost(hub, pathId(req.params), values, [], req)));
}

export async function createAttachments(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  changeablePost(hub, id, req.viewer); // before megabytes are read for nothing
  const added = await receiveUpload(hub, req, ({ files }) => addFilesToPost(hub, id, files, req));
  return json({ items: added.map((attachment) => attachmentJson(hub, attachment)) }, 201);
}

export function deleteAttachment(hub: Hub, req: MemberRequest): Reply {
  removeFile(hub, pathId(req.params), req);
  return noContent();
}
