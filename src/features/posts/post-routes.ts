import { isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import type { Html } from '../../platform/http/html.ts';
import { isUnreadOnly, nextLink, parseId, pathId } from '../../platform/http/input.ts';
import {
  HttpError, json, noContent, notFound, page, seeOther, type Reply,
} from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { firstValues, isMultipart, receiveUpload } from '../attachments/receive-upload.ts';
import { openRemoteFile } from '../attachments/remote-cache.ts';
import {
  attachmentJson, contentWithImages, listedAttachments, serveFile, type LinkHub, type ServedFile,
} from '../attachments/serve-file.ts';
import { uploadFiles } from '../attachments/upload-files.ts';
import { audit } from '../audit/audit.ts';
import type { Hub } from '../hub/hub.ts';
import {
  changeablePost, deletablePost, deletePostForGood, mayManagePost, maySeePost, queryPosts, visiblePost,
} from './post-access.ts';
import { posts, type PostAccess, type WholePost } from './post-store.ts';
import { confirmDeletePage, postList, postPage, timelinePage } from './post-views.ts';
import { noteOpened, readAmong } from './reading-history-store.ts';
import { addFilesToPost, rewritePost, writePost } from './write-post.ts';

/** Bytes. 400,000 characters of a post, each written as \u…, and its other members. */
const JSON_LIMIT = 2.5 * 1024 * 1024;

export function listPosts(hub: Hub, req: HubRequest): Reply {
  const { items, next } = queryPosts(hub, req, { sourceId: readSourceId(req.query), withContents: true });
  const shown = withReadState(hub, posts(hub).whole(items), req.viewer);
  return json({ items: shown, next }, 200, nextLink(req.path, req.query, next));
}

export function showPostJson(hub: Hub, { params, viewer }: HubRequest): Reply {
  return json(withReadState(hub, [visiblePost(hub, pathId(params), viewer)], viewer)[0]);
}

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

export function deletePost(hub: Hub, req: MemberRequest): Reply {
  deletePostForGood(hub, pathId(req.params), req);
  return noContent();
}

/** Posts as the API shows them; to a member also whether they are read. */
function withReadState(hub: Hub, posts: WholePost[], viewer: Viewer | null) {
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

export async function showAttachment(hub: Hub, req: HubRequest): Promise<Reply> {
  const { attachment, post } = visible(hub, addressed(hub, req), req);
  const isPublic = post.isPublic === 1;
  const { remoteUrl, sha256, mediaType, bytes, filename, scan } = attachment;
  if (remoteUrl !== null) return serveRemote(hub, remoteUrl, post, { filename, isPublic }, req);
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
    audit(hub, 'attachment.deleted', req, { kind: 'attachment', id, name: filename });
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

export function showPosts(hub: Hub, req: HubRequest): Reply {
  const { query, viewer } = req;
  const list = queryPosts(hub, req);
  const read = readAmong(hub, viewer, list.items.map(({ id }) => id));
  const [typed, isFirstPage] = [query.get('q') ?? '', !query.get('cursor')];
  return page(timelinePage({ ...list, typed, isFirstPage, viewer, read, unreadOnly: isUnreadOnly(query) }));
}

/** The list of posts on a source's page, null where there is none. */
export function sourcePostList(
  hub: Hub, req: HubRequest, sourceId: number,
): { posts: Html | null; next: string | null } {
  const { items, next } = queryPosts(hub, req, { sourceId });
  const read = readAmong(hub, req.viewer, items.map(({ id }) => id));
  return { posts: items.length > 0 ? postList(items, { withSource: false, read }) : null, next };
}

export function showPost(hub: Hub, req: HubRequest): Reply {
  const { params, viewer } = req;
  const post = visiblePost(hub, pathId(params), viewer);
  if (viewer && viewer.scope !== 'read' && isOpening(req)) noteOpened(hub, viewer, post.id);
  const may = mayManagePost(post, viewer);
  return page(postPage(hub, post, { delete: may, change: may && post.sourceKind === 'native' }));
}

export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(deletablePost(hub, pathId(req.params), req.viewer)));
}

export function submitDeletePost(hub: Hub, req: MemberRequest): Reply {
  return seeOther(`/sources/${deletePostForGood(hub, pathId(req.params), req).sourceId}`);
}

/** Not when a browser only fetches ahead what might be opened (Sec-Purpose), or asks for the head. */
function isOpening({ method, headers }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch');
}
