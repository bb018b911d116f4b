import type { TestContext } from 'node:test';
import { addFeed } from './accounts.ts';
import { rss, serving, type Item } from './feeds.ts';
import { startHub } from './hub.ts';
import { startOrigin, type OriginHandler } from './origin.ts';

/** A hub whose `ada` follows one feed, whose answer the test changes. */
export async function followedFeed(t: TestContext, items: Item[] = [{ guid: 'a' }], env: Record<string, string> = {}) {
  const hub = await startHub(t, env);
  const feed = { handler: serving(() => rss('Owls', items)) as OriginHandler };
  const origin = await startOrigin(t, (request, response) => feed.handler(request, response));
  const ada = await hub.person('ada');
  const id = await addFeed(ada, `${origin.url}/feed`);
  return { hub, feed, origin, ada, id };
}
