import type { Hub } from '../features/hub/hub.ts';
import type { Route } from '../platform/http/router.ts';
import { ADMIN_LISTS } from './admin-lists.ts';
import type { Assets } from './assets.ts';
import { withOpenApi } from './openapi.ts';
import { ROUTES } from './route-list.ts';

/** Every address of the hub. The first route that fits a path wins. */
export function hubRoutes(hub: Hub, assets: Assets): Route[] {
  return withOpenApi([
    ...ROUTES.map((bind) => bind(hub)),
    ...ADMIN_LISTS.flatMap((list) => list.routes(hub)),
    ...assets.routes,
  ], hub.config);
}
