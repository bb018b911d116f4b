import type { Route } from '../platform/http/router.ts';
import { ADMIN_LISTS } from './admin-lists.ts';
import type { App } from './app.ts';
import type { Assets } from './assets.ts';
import { withOpenApi } from './openapi.ts';
import { ROUTES } from './route-list.ts';

/** Every address of the hub. The first route that fits a path wins. */
export function hubRoutes({ hub, config }: App, assets: Assets): Route[] {
  return withOpenApi([
    ...ROUTES.map((bind) => bind(hub)),
    ...ADMIN_LISTS.flatMap((list) => list.routes(hub)),
    ...assets.routes,
  ], config);
}
