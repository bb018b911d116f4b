import { pathId } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { viewerOfAddress } from '../accounts/signed-address-store.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleSource } from '../sources/source-store.ts';
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
