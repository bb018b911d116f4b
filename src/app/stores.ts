// Every file that holds prepared statements: web and worker load all of them before anything else, so that a mistake
// in SQL stops the start.
import '../features/accounts/account-store.ts';
import '../features/accounts/credential-store.ts';
import '../features/accounts/preferences-store.ts';
import '../features/alerts/alert-store.ts';
import '../features/attachments/attachment-store.ts';
import '../features/attachments/cached-file-store.ts';
import '../features/audit/audit-store.ts';
import '../features/errors/error-store.ts';
import '../features/follows/follow-store.ts';
import '../features/health/read-health.ts';
import '../features/hub/hub-look-store.ts';
import '../features/hub/hub-seed-store.ts';
import '../features/notifications/notification-store.ts';
import '../features/posts/feed-posts-store.ts';
import '../features/posts/find-posts-store.ts';
import '../features/posts/post-store.ts';
import '../features/posts/draft-store.ts';
import '../features/posts/search-index-store.ts';
import '../features/reading/list-store.ts';
import '../features/reading/reading-history-store.ts';
import '../features/reading/reading-store.ts';
import '../features/retention/retention-store.ts';
import '../features/sources/feed-credentials-store.ts';
import '../features/sources/source-store.ts';
import '../features/sources/sync-state-store.ts';
import '../features/webhooks/webhook-store.ts';
