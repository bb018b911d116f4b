import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { manageableSource } from '../sources/source-store.ts';
import { sourceIcons } from './icon-store.ts';

/** Only feeds have icons. The hub fetches none for a source whose icon was removed, until it is asked to. */
export const ICON_ROUTES: Endpoint[] = [
  ...act({
    api: 'PUT /api/sources/:id/icon', form: 'POST /sources/:id/icon/find', summary: 'Look for the icon of a feed again',
    run: byId((hub, id, { viewer }) => sourceIcons(hub).want(manageableSource(hub, id, viewer).id)),
    to: saying('/sources/:id/settings', 'icon-wanted'),
  }),
  ...act({
    api: 'DELETE /api/sources/:id/icon', form: 'POST /sources/:id/icon/clear',
    summary: 'Remove the icon of a source for good',
    run: byId((hub, id, { viewer }) => {
      if (manageableSource(hub, id, viewer).kind === 'feed') sourceIcons(hub).clear(id);
    }),
    usesReserve: true, to: saying('/sources/:id/settings', 'icon-cleared'),
  }),
];
