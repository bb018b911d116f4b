import { toHttpError } from '../../platform/http/answer-request.ts';
import { byteSize, type Html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import { type HttpError, page, type Page, type Reply, seeOther } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { errorFields } from '../../platform/log.ts';
import { firstValues, MAX_FILES, receiveUpload, type ReceivedFile } from '../attachments/receive-upload.ts';
import { actorOf } from '../audit/audit.ts';
import { noteError } from '../errors/error-store.ts';
import type { Hub } from '../hub/hub.ts';
import {
  changeablePost, deletablePost, deletePostForGood, isUnreadOnly, mayManagePost, queryPosts, visiblePost,
  writableSource,
} from './post-access.ts';
import type { PostWithAttachments } from './post-store.ts';
import {
  changePostPage, confirmDeletePage, postList, postPage, timelinePage, writePostPage, type PostForm,
} from './post-views.ts';
import { paragraphsToText, rewritePost, writePost } from './write-post.ts';
import { noteOpened, readAmong } from './reading-history-store.ts';

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
  const { items, next } = queryPosts(hub, req, sourceId);
  const read = readAmong(hub, req.viewer, items.map(({ id }) => id));
  return { posts: items.length > 0 ? postList(items, { withSource: false, read }) : null, next };
}

export function showPost(hub: Hub, req: HubRequest): Reply {
  const { params, viewer } = req;
  const post = visiblePost(hub, pathId(params), viewer);
  if (viewer && isOpening(req)) noteOpened(hub, viewer, post.id);
  const may = mayManagePost(post, viewer);
  return page(postPage(hub, post, { delete: may, change: may && post.sourceKind === 'native' }));
}

export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(deletablePost(hub, pathId(req.params), req.viewer)));
}

export function submitDeletePost(hub: Hub, req: MemberRequest): Reply {
  const { sourceId } = deletePostForGood(hub, pathId(req.params), req.viewer, actorOf(req));
  return seeOther(`/sources/${sourceId}`);
}

/** Not when a browser only fetches ahead what might be opened (Sec-Purpose), or asks for the head. */
function isOpening({ method, headers }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch');
}

type Values = Record<string, string>;

export function showWritePost(hub: Hub, { params, viewer }: MemberRequest): Reply {
  const source = writableSource(hub, pathId(params), viewer);
  return page(writePostPage(source, formOf(hub, {})));
}

export function submitPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const source = writableSource(hub, pathId(req.params), req.viewer);
  const sourceId = String(source.id);
  const write = (values: Values, files: ReceivedFile[]) =>
    writePost(hub, { ...values, sourceId }, files, req.viewer, actorOf(req));
  return submitted(hub, req, write, (form) => writePostPage(source, form));
}

export function showChangePost(hub: Hub, { params, viewer }: MemberRequest): Reply {
  const post = changeablePost(hub, pathId(params), viewer);
  return page(changePostPage(post, formOf(hub, valuesOf(post))));
}

export function submitPostChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = changeablePost(hub, pathId(req.params), req.viewer);
  const rewrite = (values: Values, files: ReceivedFile[]) =>
    rewritePost(hub, post.id, values, files, req.viewer, actorOf(req));
  return submitted(hub, req, rewrite, (form) => changePostPage(post, form));
}

/** Does what the form asks for and leads to the post; on a refusal the form comes again with what was typed. */
async function submitted(
  hub: Hub, req: MemberRequest, act: (values: Values, files: ReceivedFile[]) => Promise<PostWithAttachments>,
  again: (form: PostForm) => Page,
): Promise<Reply> {
  const typed = new Map<string, string[]>();
  try {
    const post = await receiveUpload(hub, req, ({ files }) => act(firstValues(typed), files), typed);
    return seeOther(`/posts/${post.id}`);
  } catch (error) {
    const problem = toHttpError(error);
    if (problem.status === 500 || typed.size === 0) throw error;
    if (problem !== error) noteTrouble(hub, error);
    return page(again(formOf(hub, firstValues(typed), problem)), problem.status, problem.headers);
  }
}

/** Trouble of the hub's own, such as a full disk, that the form survives. */
function noteTrouble(hub: Hub, error: unknown): void {
  hub.log.error('post not stored', errorFields(error));
  noteError(hub, error);
}

function formOf({ config }: Hub, values: Values, problem?: HttpError): PostForm {
  const size = byteSize(config.uploadMaxBytes);
  const filesHint = `up to ${MAX_FILES}: images, PDF, plain text or Markdown, ${size} each`;
  return { values, filesHint, ...(problem && { problem }) };
}

/** The post as its form shows it: as text where it was written as text, else as markup. */
function valuesOf({ title, contentHtml, url }: PostWithAttachments): Values {
  const text = paragraphsToText(contentHtml);
  const content = text ?? contentHtml;
  return { title, content, contentType: text === undefined ? 'text/html' : 'text/plain', url: url ?? '' };
}
