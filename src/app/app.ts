import { audit, type RecordAct } from '../features/audit/audit.ts';
import { noteError } from '../features/errors/error-store.ts';
import { notifyFollowers } from '../features/follows/notify-followers.ts';
import { counts as countsOf, jobs as jobsOf, limits as limitsOf, throttled, type Hub } from '../features/hub/hub.ts';
import { notifications as notificationsOf } from '../features/notifications/notification-store.ts';
import { ingestStore as ingestStoreOf } from '../features/posts/ingest-store.ts';
import { posts as postsOf } from '../features/posts/post-store.ts';
import { writingPosts } from '../features/posts/write-post.ts';
import { mayManage, maySee } from '../features/sources/source-access.ts';
import { sources as sourcesOf } from '../features/sources/source-store.ts';
import type { JobHandlers } from '../platform/jobs/worker.ts';
import { createAttachments } from './attachments.ts';
import { jobHandlers } from './job-kinds.ts';

export type Surroundings = Hub;

export type App = ReturnType<typeof createApp>;

/** What the hub is made of, and where its features meet. Read this first. */
export function createApp(surroundings: Surroundings) {
  const { db, clock } = surroundings;
  const hub: Hub = surroundings;
  const recordAct: RecordAct = (...event) => audit(hub, ...event);
  const [counts, limits, paced, jobs] = [countsOf(hub), limitsOf(hub), throttled(hub), jobsOf(hub)];

  const sources = sourcesOf(hub);
  const posts = postsOf(hub);
  const ingestStore = ingestStoreOf(hub);
  const notifications = notificationsOf(hub);

  const attachments = createAttachments({ ...surroundings, hub, jobs, counts, notifications, recordAct });
  const writing = writingPosts({
    db, posts, ingest: ingestStore, attach: attachments.attach, counts, recordAct, clock,
    onWritten: (sourceId, authorId) => notifyFollowers(hub, sourceId, 1, authorId),
    findSource(id, viewer) {
      const source = sources.find(id);
      return source && maySee(source, viewer) ? { ...source, mayManage: mayManage(source, viewer) } : undefined;
    },
  });

  const handlers: JobHandlers = {
    ...jobHandlers(hub),
    ...attachments.handlers,
  };

  return {
    ...surroundings,
    hub,
    counts,
    errors: { note: (error: unknown) => noteError(hub, error) },
    recordAct, limits, paced, jobs, handlers, sources, posts,
    notifications, attachments, writing,
  };
}
