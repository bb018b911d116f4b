import { hubLook } from '../../features/hub/hub-row-store.ts';
import type { Hub } from '../../features/hub/hub.ts';
import { text, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { assets } from './assets.ts';

/** The web app manifest, by which the hub can be put on a home screen. */
export function showManifest(hub: Hub, _request: HubRequest): Reply {
  const { name } = hubLook(hub).read();
  const { path } = assets(hub);
  const icon = (src: string, size: number, purpose: string) =>
    ({ src, sizes: `${size}x${size}`, type: 'image/png', purpose });
  const manifest = {
    name, short_name: name.slice(0, 30), id: '/', start_url: '/', scope: '/', display: 'standalone',
    background_color: '#fbfaf6', theme_color: '#fbfaf6',
    icons: [
      icon(path('icon-192.png'), 192, 'any'), icon(path('icon-512.png'), 512, 'any'),
      icon(path('icon-maskable.png'), 512, 'maskable'),
    ],
  };
  const caching = { 'cache-control': 'public, max-age=0, must-revalidate' };
  return text(JSON.stringify(manifest), 'application/manifest+json', caching);
}
