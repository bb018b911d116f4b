import { peopleRoutes } from '../features/accounts/people-routes.ts';
import { overviewRoutes } from '../features/admin/overview-routes.ts';
import { followRoutes, type FollowRouteDeps } from '../features/follows/follow-routes.ts';
import { historyRoutes, type HistoryRouteDeps } from '../features/history/history-routes.ts';
import { webhookAdminRoutes } from '../features/webhooks/webhook-admin-routes.ts';
import { webhookList as webhookListOf } from '../features/webhooks/webhook-list-store.ts';
import type { Route } from '../platform/http/router.ts';
import { readingOverview } from './admin-overview.ts';
import type { App } from './app.ts';
import type { Membership } from './membership.ts';
import type { Observations } from './observations.ts';

type Sight = Pick<FollowRouteDeps, 'maySeeSource'> & Pick<HistoryRouteDeps, 'maySeePost'>;

/** What members follow and have read, and what administrators look after. */
export function peopleAndAdminRoutes(
  app: App, membership: Membership, observations: Observations, sight: Sight,
): Route[] {
  const { people, config } = app;
  return [
    ...followRoutes({ follows: people.follows, ...sight }),
    ...historyRoutes({ history: people.history, ...sight }),
    ...overviewRoutes({ readOverview: readingOverview(app, observations) }),
    ...webhookAdminRoutes({ webhooks: webhookListOf(app.hub) }),
    ...peopleRoutes({ ...membership, baseUrl: config.baseUrl }),
  ];
}
