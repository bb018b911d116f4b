import { createHash, randomUUID } from 'node:crypto';
import { invalid, notFound } from '../../platform/http/problem.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { attachFiles } from '../attachments/attach-files.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { keepFiles, type ReceivedFile } from '../attachments/receive-upload.ts';
import { audit, type Actor } from '../audit/audit.ts';
import { notifyFollowers } from '../follows/notify-followers.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { preparePost } from './ingest-posts.ts';
import { changeablePost, writableSource } from './post-access.ts';
import { posts, type PostWithAttachments } from './post-store.ts';
import type { PreparedPost } from './post.ts';
import { readChangedPost, readNewPost, type Draft } from './read-draft.ts';

/** What was sent of a post, by member. */
type Values = Record<string, unknown>;

/**
 * Stores a post that somebody writes at the hub, for a source of kind native. 404, 403 or 409 for the source, 422 for
 * what is written; only then are the files kept.
 */
export async function writePost(
  hub: Hub, values: Values, files: ReceivedFile[], viewer: Viewer, actor: Actor,
): Promise<PostWithAttachments> {
  const { sourceId, draft } = readNewPost(values, hub.clock());
  writableSource(hub, sourceId, viewer);
  const prepared = prepare(`urn:uuid:${randomUUID()}`, draft, hub.clock());
  await keepFiles(hub, files);
  return hub.db.write('create post', () => {
    const source = writableSource(hub, sourceId, viewer);
    const stored = posts(hub).put(source.id, prepared, hub.clock());
    if (!stored) throw notFound('source');
    attachFiles(hub, stored.id, source.ownerId, files);
    counts(hub).add('posts_ingested_total', source.kind, 1);
    notifyFollowers(hub, source.id, 1, viewer.id);
    audit(hub, 'post.created', actor, { kind: 'post', id: stored.id, name: draft.title });
    return find(hub, stored.id);
  });
}

/** Changes a post by the members that are there; the others stay. Refuses as `writePost` does. */
export async function rewritePost(
  hub: Hub, id: number, values: Values, files: ReceivedFile[], viewer: Viewer, actor: Actor,
): Promise<PostWithAttachments> {
  const before = changeablePost(hub, id, viewer);
  const draft = readChangedPost(values, before, hub.clock());
  const prepared = prepare(before.guid, draft, hub.clock());
  await keepFiles(hub, files);
  return hub.db.write('change post', () => {
    const { sourceId, ownerId } = changeablePost(hub, id, viewer);
    posts(hub).put(sourceId, prepared, hub.clock());
    attachFiles(hub, id, ownerId, files);
    audit(hub, 'post.changed', actor, { kind: 'post', id, name: draft.title });
    return find(hub, id);
  });
}

/** Adds files to a post of a source of own posts; returns the attachments that they became. 422 without any. */
export async function addFilesToPost(
  hub: Hub, id: number, files: ReceivedFile[], viewer: Viewer, actor: Actor,
): Promise<Attachment[]> {
  if (files.length === 0) {
    throw invalid([{ pointer: '/attachments', detail: 'There is no file in the field attachments.' }]);
  }
  await keepFiles(hub, files);
  return hub.db.write('add attachments', () => {
    const post = changeablePost(hub, id, viewer);
    audit(hub, 'post.files-added', actor, { kind: 'post', id, name: post.title }, { files: files.length });
    const added = new Set(attachFiles(hub, id, post.ownerId, files));
    return find(hub, id).attachments.filter((attachment) => added.has(attachment.id));
  });
}

function find(hub: Hub, id: number): PostWithAttachments {
  const post = posts(hub).find(id);
  if (!post) throw notFound('post');
  return post;
}

/** Its hash includes the time, so that whatever somebody writes is stored anew. */
function prepare(guid: string, draft: Draft, now: number): PreparedPost {
  const contentHash = createHash('sha256').update(JSON.stringify({ ...draft, now })).digest('base64url');
  const rest = { author: null, baseUrl: '', summary: null, updatedAt: now, attachments: [] };
  return preparePost({ guid, ...draft, ...rest }, contentHash);
}
