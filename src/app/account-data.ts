import type { ExportPart } from '../features/accounts/export-account.ts';
import type { OwnedSource } from '../features/accounts/leave-hub.ts';
import { auditJson } from '../features/audit/audit-list.ts';
import { auditRecords, type AuditRecord } from '../features/audit/audit-store.ts';
import type { Followed } from '../features/follows/follow-store.ts';
import { historyJson } from '../features/history/history-routes.ts';
import type { ReadPost } from '../features/posts/reading-history-store.ts';
import { notificationJson } from '../features/notifications/notification-json.ts';
import type { Notification } from '../features/notifications/notification-store.ts';
import { postJson } from '../features/posts/post-json.ts';
import type { PostWithAttachments } from '../features/posts/post-store.ts';
import { sourceJson } from '../features/sources/source-json.ts';
import type { Source } from '../features/sources/source-store.ts';
import { inBatches } from '../platform/db/paced-writes.ts';
import type { App } from './app.ts';

const BATCH = 200;

/** Rows of posts are heavy. */
const POST_BATCH = 20;

type Needs = Pick<App, 'config' | 'sources' | 'posts' | 'notifications' | 'people' | 'hub'>;

/** What an account owns, and what its export holds beside the account itself. */
export function accountData({ config, sources, posts, notifications, people, hub }: Needs) {
  const serving = { baseUrl: config.baseUrl, keepsRemoteFiles: config.attachmentCacheMaxBytes > 0 };
  const { follows, history } = people;

  const owned = (id: number): Iterable<Source> => inBatches((last) => sources.listOwned(id, last?.id ?? 0, BATCH));

  function* ownPosts(accountId: number): Generator<object> {
    for (const { id: sourceId, kind } of owned(accountId)) {
      if (kind !== 'native') continue; // what others have published is not this person's
      const query = { viewerId: accountId, sourceId, limit: POST_BATCH };
      const all = inBatches<PostWithAttachments>((last) => posts.newest(last ? { ...query, after: last } : query));
      yield* mapped(all, (post) => postJson(post, serving));
    }
  }

  const exportParts: Record<string, ExportPart> = {
    sources: (id) => mapped(owned(id), (source) => sourceJson(source, { isOwner: true, isFollowed: null })),
    posts: ownPosts,
    follows: (id) => mapped(
      inBatches<Followed>((last) => follows.listOf(id, last?.sourceId ?? 0, BATCH)),
      ({ sourceId, title, createdAt }) => ({ sourceId, title, since: new Date(createdAt).toISOString() }),
    ),
    history: (id) => mapped(inBatches<ReadPost>((last) => history.list(id, last, BATCH)), historyJson),
    notifications: (id) => mapped(inBatches<Notification>((last) => notifications.list({
      accountId: id, unreadOnly: false, after: last?.id ?? Number.MAX_SAFE_INTEGER, limit: BATCH,
    })), notificationJson),
    acts: (id) => mapped(
      inBatches<AuditRecord>((last) => auditRecords(hub).listOf(id, last?.id ?? 0, BATCH)), auditJson,
    ),
  };

  return {
    exportParts,
    ownedSources: (accountId: number): OwnedSource[] => [...owned(accountId)].map(({ id, title }) => ({ id, title })),
  };
}

function* mapped<From>(rows: Iterable<From>, map: (row: From) => object): Generator<object> {
  for (const row of rows) yield map(row);
}
