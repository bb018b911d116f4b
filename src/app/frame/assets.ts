import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hubLook } from '../../features/hub/hub-row-store.ts';
import { once, type Hub } from '../../features/hub/hub.ts';
import { html } from '../../platform/http/html.ts';
import { text, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route } from '../../platform/http/router.ts';

const FOLDER = join(import.meta.dirname, 'assets');
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLES = 'text/css; charset=utf-8';
const FOR_NOW = { 'cache-control': 'public, max-age=0, must-revalidate' };
const FOR_EVER = { 'cache-control': 'public, max-age=31536000, immutable' };

const FILES = ['icon.svg', 'icon-180.png', 'icon-192.png', 'icon-512.png', 'icon-maskable.png'] as const;

type FileName = (typeof FILES)[number];

/** Addresses and routes of the files that pages load; an address has the file's hash, so it is cached for ever. */
export const assets = once((hub: Hub) => {
  const stylesheet = readStylesheet(hub, 'hub.css', (hue) => `\n:root { --hue: ${hue}; }\n`);
  const workStylesheet = readStylesheet(hub, 'work.css');
  const [script, writeScript] = [readAsset('hub.js', SCRIPT), readAsset('write.js', SCRIPT)];
  const files = FILES.map((name) => readAsset(name, name.endsWith('.svg') ? 'image/svg+xml' : 'image/png'));
  const paths = Object.fromEntries(files.map(({ path }, index) => [FILES[index], path])) as Record<FileName, string>;
  const routes = [stylesheet, workStylesheet, script, writeScript, ...files].map((file) => file.route);
  return { stylesheet, workStylesheet, script, writeScript, path: (name: FileName): string => paths[name], routes };
});

/**
 * A stylesheet that ends as the hub's hue needs it. The hue may change, so each page asks for the path anew. Comments
 * and indentation are left out: that is an eighth of what goes over the wire.
 */
function readStylesheet(
  hub: Hub, name: 'hub.css' | 'work.css', endFor: (hue: number) => string = () => '',
): { path: () => string; route: Route } {
  const written = readFileSync(join(FOLDER, name), 'utf8');
  const rules = written.replace(/\/\*[^]*?\*\//g, '').replace(/\n\s*/g, '\n');
  let made = { hue: NaN, path: '', css: '' };

  function current(): typeof made {
    const { hue } = hubLook(hub).read();
    if (hue !== made.hue) {
      const css = rules + endFor(hue);
      made = { hue, css, path: `/assets/${shortHash(css)}/${name}` };
    }
    return made;
  }

  /** An older version's address, which older pages have, gives the current one; browsers must ask again each time. */
  const show = (asked: string): Reply => {
    const { css, path } = current();
    return text(css, STYLES, asked === path ? FOR_EVER : FOR_NOW);
  };
  return {
    path: () => current().path,
    route: route(`GET /assets/:hash/${name}`, 'public', `Asset: ${name}`, ({ path }) => show(path), { cached: [] }),
  };
}

/** `hash`: the file's hash for `integrity` and the Content-Security-Policy. */
type Asset = { path: string; hash: string; route: Route };

function readAsset(name: string, contentType: string): Asset {
  const content = readFileSync(join(FOLDER, name));
  const path = `/assets/${shortHash(content)}/${name}` as const;
  const body = contentType === 'image/png' ? content : content.toString();
  const reply: Reply = { status: 200, headers: { 'content-type': contentType, ...FOR_EVER }, body };
  const answering = route(`GET ${path}`, 'public', `Asset: ${name}`, () => reply, { cached: [] });
  const hash = `sha256-${createHash('sha256').update(content).digest('base64')}`;
  return { path, hash, route: answering };
}

function shortHash(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 12);
}

/** The web app manifest, for adding the hub to a home screen. */
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
  return text(JSON.stringify(manifest), 'application/manifest+json', FOR_NOW);
}

/** The hub's logo: three lines (the sources) that run into one dot (the hub). */
export const MARK = html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><g fill="none" stroke="currentColor"
  stroke-width="3" stroke-linecap="round"><path d="M3 6c11 0 9 10 19 10M3 16h17M3 26c11 0 9-10 19-10"/></g><circle
  cx="24.5" cy="16" r="5.5" fill="currentColor"/></svg>`;

export const ARRIVALS = html`<svg class="arrivals" viewBox="0 0 448 128" preserveAspectRatio="xMaxYMid slice"
  aria-hidden="true"><g fill="none" stroke="currentColor" stroke-width="11" stroke-linecap="round"><path
  d="M-900 22H270c66 0 54 42 118 42M-900 64H376M-900 106H270c66 0 54-42 118-42"/></g><circle cx="406" cy="64" r="24"
  fill="currentColor"/></svg>`;
