import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { HttpError, invalid, notFound } from '../../platform/http/problem.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import { actorOf, type RecordAct } from '../audit/audit.ts';
import type { PreparedPost } from './incoming-post.ts';
import { preparePost } from './ingest-posts.ts';
import type { IngestStore } from './ingest-store.ts';
import type { PostStore, PostWithAttachments } from './post-store.ts';
import { readChangedPost, readNewPost, type Draft } from './read-draft.ts';

/** A source as far as writing for it is concerned. */
export type WritableSource = { id: number; kind: string; title: string; ownerId: number; mayManage: boolean };

/** Files of a request, received but not kept yet; given by app. */
export type ReceivedFiles<File> = { files: File[]; keep(): Promise<void> };

export type WritePostDeps<File> = {
  db: Db;
  posts: PostStore;
  ingest: IngestStore;
  /** The source where the viewer may see it; given by app. */
  findSource(id: number, viewer: Viewer): WritableSource | undefined;
  /** Names the files as attachments of the post, in the caller's transaction; given by app. */
  attach(postId: number, ownerId: number, files: File[]): number[];
  /** Told of a new post of a source and who wrote it, in the same transaction; given by app. */
  onWritten(sourceId: number, authorId: number): void;
  counts: KeptCounts;
  recordAct: RecordAct;
  clock: Clock;
};

export type WritingPosts<File> = ReturnType<typeof writingPosts<File>>;

/** Posts that people write at the hub, for sources of kind native. */
export function writingPosts<File>(deps: WritePostDeps<File>) {
  const { db, posts, ingest, findSource, attach, onWritten, counts, recordAct, clock } = deps;

  /** 404, 403 or 409 where the viewer may not write for it. */
  function writable(sourceId: number, viewer: Viewer): WritableSource {
    const source = findSource(sourceId, viewer);
    if (!source) throw notFound('source');
    if (!source.mayManage) throw new HttpError(403, 'Only the owner of a source may write posts for it.');
    if (source.kind !== 'native') throw new HttpError(409, 'Posts can be written for sources of own posts only.');
    return source;
  }

  function changeable(id: number, viewer: Viewer): PostWithAttachments {
    const post = posts.find(id);
    if (!post || !findSource(post.sourceId, viewer)) throw notFound('post');
    writable(post.sourceId, viewer);
    return post;
  }

  function store(source: WritableSource, guid: string, draft: Draft): number {
    const now = clock();
    ingest.store(source.id, prepare(guid, draft, now), now);
    const id = ingest.idOf(source.id, guid);
    if (id === undefined) throw notFound('source'); // it was deleted meanwhile
    return id;
  }

  function read(id: number): PostWithAttachments {
    const post = posts.find(id);
    if (!post) throw notFound('post');
    return post;
  }

  const create = db.transaction('create post', (
    sourceId: number, draft: Draft, files: File[], req: MemberRequest,
  ): number => {
    const source = writable(sourceId, req.viewer);
    const id = store(source, `urn:uuid:${randomUUID()}`, draft);
    attach(id, source.ownerId, files);
    counts.add('posts_ingested_total', source.kind, 1);
    onWritten(source.id, req.viewer.id);
    recordAct('post.created', actorOf(req), { kind: 'post', id, name: draft.title });
    return id;
  });

  const change = db.transaction('change post', (id: number, draft: Draft, files: File[], req: MemberRequest): void => {
    const post = changeable(id, req.viewer);
    const source = writable(post.sourceId, req.viewer);
    store(source, post.guid, draft);
    attach(id, source.ownerId, files);
    recordAct('post.changed', actorOf(req), { kind: 'post', id, name: draft.title });
  });

  const addFiles = db.transaction('add attachments', (id: number, files: File[], req: MemberRequest): number[] => {
    const post = changeable(id, req.viewer);
    recordAct('post.files-added', actorOf(req), { kind: 'post', id, name: post.title }, { files: files.length });
    return attach(id, post.ownerId, files);
  });

  return {
    writable,
    changeable,

    /** 404, 403 or 409 for the source, 422 for what is written; only then are the files kept. */
    async create(values: Record<string, unknown>, received: ReceivedFiles<File>, req: MemberRequest) {
      const { sourceId, draft } = readNewPost(values, clock());
      writable(sourceId, req.viewer);
      await received.keep();
      return read(create(sourceId, draft, received.files, req));
    },

    /** As `create`, for the members that are there; the others stay. */
    async change(id: number, values: Record<string, unknown>, received: ReceivedFiles<File>, req: MemberRequest) {
      const draft = readChangedPost(values, changeable(id, req.viewer), clock());
      await received.keep();
      change(id, draft, received.files, req);
      return read(id);
    },

    /** The attachments that the files have become. 422 without any. */
    async addFiles(id: number, received: ReceivedFiles<File>, req: MemberRequest) {
      if (received.files.length === 0) {
        throw invalid([{ pointer: '/attachments', detail: 'There is no file in the field attachments.' }]);
      }
      await received.keep();
      const added = new Set(addFiles(id, received.files, req));
      return read(id).attachments.filter((attachment) => added.has(attachment.id));
    },
  };
}

function prepare(guid: string, draft: Draft, now: number): PreparedPost {
  const contentHash = createHash('sha256').update(JSON.stringify({ ...draft, now })).digest('base64url');
  const rest = { author: null, baseUrl: '', summary: null, updatedAt: now, attachments: [] };
  return preparePost({ guid, ...draft, ...rest }, contentHash);
}
