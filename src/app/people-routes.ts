import { peopleRoutes } from '../features/accounts/people-routes.ts';
import { overviewRoutes } from '../features/admin/overview-routes.ts';
import type { Route } from '../platform/http/router.ts';
import { readingOverview } from './admin-overview.ts';
import type { App } from './app.ts';
import type { Membership } from './membership.ts';
import type { Observations } from './observations.ts';

/** What administrators look after. */
export function peopleAndAdminRoutes(app: App, membership: Membership, observations: Observations): Route[] {
  const { config } = app;
  return [
    ...overviewRoutes({ readOverview: readingOverview(app, observations) }),
    ...peopleRoutes({ ...membership, baseUrl: config.baseUrl }),
  ];
}
