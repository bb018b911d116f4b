import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text, type Reply } from '../platform/http/reply.ts';
import { route, type Route } from '../platform/http/router.ts';

/** Addresses of the files that pages refer to. */
export type Assets = { stylesheet: string; icon: string; routes: Route[] };

const FOLDER = join(import.meta.dirname, 'assets');
const FOR_EVER = { 'cache-control': 'public, max-age=31536000, immutable' };

/** Reads the stylesheet and icon once. Their addresses hold their hashes, so that browsers may keep them for ever. */
export function readAssets(): Assets {
  const stylesheet = readAsset('hub.css', 'text/css; charset=utf-8');
  const icon = readAsset('icon.svg', 'image/svg+xml');
  return { stylesheet: stylesheet.path, icon: icon.path, routes: [stylesheet.route, icon.route] };
}

function readAsset(name: string, contentType: string): { path: string; route: Route } {
  const content = readFileSync(join(FOLDER, name), 'utf8');
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const path = `/assets/${hash}/${name}` as const;
  const reply: Reply = text(content, contentType, FOR_EVER);
  return { path, route: route(`GET ${path}`, 'public', `Asset: ${name}`, () => reply) };
}
