import { readJson } from '../../platform/http/body.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import { nextLink } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { attachmentJson } from '../attachments/attachment-json.ts';
import { firstValues, isMultipart, receiveUpload, type ReceivedFile } from '../attachments/receive-upload.ts';
import { actorOf } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import { changeablePost, deletePostForGood, visiblePost } from './post-access.ts';
import { postJson } from './post-json.ts';
import type { PostWithAttachments } from './post-store.ts';
import { queryPosts } from './query-posts.ts';
import { readAmong } from './reading-history-store.ts';
import { addFilesToPost, rewritePost, writePost } from './write-post.ts';

/** Bytes. 400,000 characters of a post, each written as \u…, and its other members. */
const JSON_LIMIT = 2.5 * 1024 * 1024;

export function listPosts(hub: Hub, req: HubRequest): Reply {
  const { items, next } = queryPosts(hub, req, readSourceId(req.query));
  return json({ items: withReadState(hub, items, req.viewer), next }, 200, nextLink(req.path, req.query, next));
}

export function showPostJson(hub: Hub, { params, viewer }: HubRequest): Reply {
  return json(withReadState(hub, [visiblePost(hub, pathId(params), viewer)], viewer)[0]);
}

export async function createPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const write = (values: Record<string, unknown>, files: ReceivedFile[]) =>
    writePost(hub, values, files, req.viewer, actorOf(req));
  const post = isMultipart(req)
    ? await receiveUpload(hub, req, ({ fields, files }) => write(firstValues(fields), files))
    : await write(await readJson(req, JSON_LIMIT), []);
  return json(postJson(hub, post), 201, { location: `${hub.config.baseUrl}/api/posts/${post.id}` });
}

export async function changePost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readJson(req, JSON_LIMIT);
  return json(postJson(hub, await rewritePost(hub, pathId(req.params), values, [], req.viewer, actorOf(req))));
}

export async function createAttachments(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  changeablePost(hub, id, req.viewer); // before megabytes are read for nothing
  const added = await receiveUpload(hub, req, ({ files }) =>
    addFilesToPost(hub, id, files, req.viewer, actorOf(req)));
  return json({ items: added.map((attachment) => attachmentJson(hub, attachment)) }, 201);
}

export function deletePost(hub: Hub, req: MemberRequest): Reply {
  deletePostForGood(hub, pathId(req.params), req.viewer, actorOf(req));
  return noContent();
}

/** Posts as the API shows them; to a member also whether they are read. */
function withReadState(hub: Hub, posts: PostWithAttachments[], viewer: Viewer | null) {
  if (!viewer) return posts.map((post) => postJson(hub, post));
  const read = readAmong(hub, viewer, posts.map(({ id }) => id));
  return posts.map((post) => ({ ...postJson(hub, post), read: read.has(post.id) }));
}

function readSourceId(query: URLSearchParams): number | undefined {
  const value = query.get('source');
  if (value === null || value === '') return undefined;
  const id = parseId(value);
  if (id === undefined) throw new HttpError(400, 'source must be the id of a source.');
  return id;
}
