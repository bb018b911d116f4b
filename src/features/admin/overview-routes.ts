import { page } from '../../platform/http/reply.ts';
import { route, type Route } from '../../platform/http/router.ts';
import { overviewPage, type Overview } from './overview-views.ts';

/** How the hub is, on one page; `readOverview` is given by app. */
export function overviewRoutes({ readOverview }: { readOverview(): Overview }): Route[] {
  return [route('GET /admin', 'admin', 'Page: how the hub is', () => page(overviewPage(readOverview())))];
}
