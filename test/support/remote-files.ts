import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { OutboundOptions } from '../../src/platform/net/outbound-fetch.ts';
import { addFeed } from './accounts.ts';
import { rss, serving, type Item } from './feeds.ts';
import { startHub, type Hub } from './hub.ts';
import { reply, startOrigin, type Origin, type OriginHandler } from './origin.ts';
import { pathOf, type ShownPost } from './own-posts.ts';
import { sha256 } from './sha256.ts';

/** What a publisher's server answers under each path. May be changed meanwhile. */
type Publisher = Origin & { routes: Record<string, OriginHandler> };

export type Settings = { env?: Record<string, string>; limits?: Partial<OutboundOptions>; visibility?: string };

/**
 * A hub whose `ada` follows a feed of the publisher; `items` are made once its address is known. The worker fetches no
 * pictures for lists unless `env` says so: most tests count what readers make the hub ask for.
 */
export async function hubWithFeed(
  t: TestContext, files: Record<string, OriginHandler>, items: (url: string) => Item[],
  { env = {}, limits = {}, visibility = 'public' }: Settings = {},
) {
  const hub = await startHub(t, { LIST_PICTURES: '0', ...env }, limits);
  const routes = { ...files };
  const origin = await startOrigin(t, routes);
  routes['/feed'] = serving(() => rss('Owls', items(origin.url)));
  const ada = await hub.person('ada');
  const sourceId = await addFeed(ada, `${origin.url}/feed`, { visibility });
  const posts = (await ada.get('/api/posts?limit=100')).json<{ items: ShownPost[] }>().items;
  origin.requests.length = 0;
  const publisher: Publisher = { ...origin, routes };
  return { hub, ada, publisher, posts, sourceId };
}

/** The same with one post that has all these files as enclosures; gives their paths at the hub. */
export async function hubWithFiles(t: TestContext, files: Record<string, OriginHandler>, settings: Settings = {}) {
  const names = Object.keys(files);
  const extra = (url: string) => names.map((name) => `<enclosure url="${url}${name}" type="image/png"/>`).join('');
  const { posts, ...rest } = await hubWithFeed(t, files, (url) => [{ guid: 'a', extra: extra(url) }], settings);
  const paths = Object.fromEntries((posts[0]?.attachments ?? []).map((file, index) => [names[index] ?? '', file]));
  const at = (name: string): string => pathOf(paths[name] ?? assert.fail(`no file ${name}`));
  return { ...rest, at };
}

export function image(content: Buffer, mediaType = 'image/png'): OriginHandler {
  return reply(200, { 'content-type': mediaType }, content);
}

/** Where the hub keeps its copy. */
export function cachePath(hub: Hub, url: string): string {
  const hash = sha256(url);
  return join(hub.dataDir, 'cache', hash.slice(0, 2), hash);
}

/** Sizes of all files in the cache, smallest first. */
export function cachedSizes(hub: Hub): number[] {
  const folder = join(hub.dataDir, 'cache');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size).sort((a, b) => a - b);
}

export function isCached(hub: Hub, url: string): boolean {
  return existsSync(cachePath(hub, url));
}

/** The numbers of the cache in a scrape: `files`, `bytes`, `max_bytes`, and `hit`, `miss`, `error` of its requests. */
export async function cacheNumbers(hub: Hub): Promise<Record<string, number>> {
  const scrape = (await hub.anybody.get('/api/metrics')).text;
  const found = scrape.matchAll(/^service_attachment_cache_(?:requests_total\{result="(\w+)"\}|(\w+)) (\S+)$/gm);
  return Object.fromEntries(Array.from(found, ([, result, name, value]) => [result ?? name ?? '', Number(value)]));
}

/** Fails unless rows, counts and files of the cache say the same. */
export async function assertInStep(hub: Hub): Promise<void> {
  const sizes = cachedSizes(hub);
  const { files, bytes } = await cacheNumbers(hub);
  assert.deepEqual([files, bytes], [sizes.length, sizes.reduce((sum, size) => sum + size, 0)]);
}
