import { createHash, randomUUID } from 'node:crypto';
import { invalid, notFound } from '../../platform/http/problem.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { attachFiles } from '../attachments/attach-files.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { keepFiles, type ReceivedFile } from '../attachments/receive-upload.ts';
import { actorOf, audit } from '../audit/audit.ts';
import { notifyFollowers } from '../follows/notify-followers.ts';
import { counts, type Hub } from '../hub/hub.ts';
import type { PreparedPost } from './post.ts';
import { preparePost } from './ingest-posts.ts';
import { changeablePost, writableSource } from './post-access.ts';
import { posts, type PostWithAttachments } from './post-store.ts';
import { readChangedPost, readNewPost, type Draft } from './read-draft.ts';

/** What was sent of a post, by member. */
type Values = Record<string, unknown>;

/**
 * A post that somebody writes at the hub, for a source of kind native. 404, 403 or 409 for the source, 422 for what is
 * written; only then are the files kept.
 */
export async function writePost(
  hub: Hub, values: Values, files: ReceivedFile[], req: MemberRequest,
): Promise<PostWithAttachments> {
  const { sourceId, draft } = readNewPost(values, hub.clock());
  writableSource(hub, sourceId, req.viewer);
  await keepFiles(hub, files);
  return hub.db.write('create post', () => {
    const source = writableSource(hub, sourceId, req.viewer);
    const stored = posts(hub).put(source.id, prepare(`urn:uuid:${randomUUID()}`, draft, hub.clock()), hub.clock());
    if (!stored) throw notFound('source');
    attachFiles(hub, stored.id, source.ownerId, files);
    counts(hub).add('posts_ingested_total', source.kind, 1);
    notifyFollowers(hub, source.id, 1, req.viewer.id);
    audit(hub, 'post.created', actorOf(req), { kind: 'post', id: stored.id, name: draft.title });
    return find(hub, stored.id);
  });
}

/** As `writePost`, for the members that are there; the others stay. */
export async function rewritePost(
  hub: Hub, id: number, values: Values, files: ReceivedFile[], req: MemberRequest,
): Promise<PostWithAttachments> {
  const draft = readChangedPost(values, changeablePost(hub, id, req.viewer), hub.clock());
  await keepFiles(hub, files);
  return hub.db.write('change post', () => {
    const { sourceId, ownerId, guid } = changeablePost(hub, id, req.viewer);
    posts(hub).put(sourceId, prepare(guid, draft, hub.clock()), hub.clock());
    attachFiles(hub, id, ownerId, files);
    audit(hub, 'post.changed', actorOf(req), { kind: 'post', id, name: draft.title });
    return find(hub, id);
  });
}

/** The attachments that the files become. 422 without any. */
export async function addFilesToPost(
  hub: Hub, id: number, files: ReceivedFile[], req: MemberRequest,
): Promise<Attachment[]> {
  if (files.length === 0) {
    throw invalid([{ pointer: '/attachments', detail: 'There is no file in the field attachments.' }]);
  }
  await keepFiles(hub, files);
  return hub.db.write('add attachments', () => {
    const post = changeablePost(hub, id, req.viewer);
    audit(hub, 'post.files-added', actorOf(req), { kind: 'post', id, name: post.title }, { files: files.length });
    const added = new Set(attachFiles(hub, id, post.ownerId, files));
    return find(hub, id).attachments.filter((attachment) => added.has(attachment.id));
  });
}

function find(hub: Hub, id: number): PostWithAttachments {
  const post = posts(hub).find(id);
  if (!post) throw notFound('post');
  return post;
}

/** The hash holds the time: what somebody writes is stored anew each time. */
function prepare(guid: string, draft: Draft, now: number): PreparedPost {
  const contentHash = createHash('sha256').update(JSON.stringify({ ...draft, now })).digest('base64url');
  const rest = { author: null, baseUrl: '', summary: null, updatedAt: now, attachments: [] };
  return preparePost({ guid, ...draft, ...rest }, contentHash);
}
