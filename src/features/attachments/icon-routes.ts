import { pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { viewerOfAddress } from '../accounts/signed-address-store.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleSource, manageableSource } from '../sources/source-store.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { ICON_HEADERS } from './icon-set.ts';
import { sourceIcons } from './icon-store.ts';
import { MARK_LENGTH } from './icon-views.ts';

const KEY = new RegExp(`^(\\d+)-([0-9a-f]{${MARK_LENGTH}})$`);

/** The icon of an address that contains the source's id, and the first digits of the icon's hash. */
export function requestedIcon(hub: Hub, { params, viewer, path, query }: HubRequest) {
  const [, id = '', mark = ''] = KEY.exec(params['key'] ?? '') ?? [];
  const signedFor = viewer === null ? viewerOfAddress(hub, path, query) : null;
  const source = visibleSource(hub, pathId({ id }), viewer ?? signedFor);
  const hasEnded = signedFor && source.visibility === 'private' && !follows(hub).isFollowed(signedFor.id, source.id);
  if (hasEnded) throw notFound('icon'); // unfollowing a private source ends its signed addresses
  const icon = sourceIcons(hub).find(source.id);
  if (!icon?.sha256.startsWith(mark)) throw notFound('icon');
  return { icon, signedFor };
}

/** GET /icons/7-0123456789abcdef */
export function showIcon(hub: Hub, req: HubRequest): Reply {
  const { icon, signedFor } = requestedIcon(hub, req);
  const forApp = signedFor && { 'cross-origin-resource-policy': 'cross-origin' };
  return { status: 200, headers: { ...ICON_HEADERS, 'content-type': icon.mediaType, ...forApp }, body: icon.content };
}

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
