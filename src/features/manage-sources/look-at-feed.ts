import type { By } from '../audit/audit.ts';
import { basicAuthorization } from '../feeds/feed-passwords.ts';
import { fetchFeed, NO_VALIDATORS, type FetchedFeed } from '../feeds/fetch-feed.ts';
import type { Hub } from '../hub/hub.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { sources, TITLE_MAX } from '../sources/source-store.ts';
import { lookOnce, readNewSource } from './add-source.ts';

/** Posts that are shown of what was found. */
const SHOWN = 5;
/** Other feeds of a page. */
const OTHERS = 20;

type FoundItem = { title: string; publishedAt: number | null };

/** What is at an address: a feed with its newest posts, other feeds of the page, and whether the hub has it. */
export type FoundFeed = {
  url: string;
  title: string;
  description: string | null;
  items: FoundItem[];
  others: { url: string; title: string | null }[];
  known: { id: number; isOwn: boolean } | undefined;
};

/** Looks at the feed that somebody is about to add; nothing is stored. 422 for what is none, 429 when too often. */
export async function lookAtFeed(hub: Hub, values: Record<string, unknown>, by: By): Promise<FoundFeed> {
  const { url, password } = readNewSource({ ...values, kind: 'feed' });
  const authorization = password ? basicAuthorization(password) : undefined;
  const options = { discover: true, recognise: true, authorization };
  const fetched = await lookOnce(hub, by.viewer.id, () => fetchFeed(hub, url ?? '', NO_VALIDATORS, options));
  return { ...shown(fetched), known: password ? undefined : knownSource(hub, fetched.url, by.viewer.id) };
}

function shown({ url, feed, advertised = [] }: FetchedFeed): Omit<FoundFeed, 'known'> {
  const newest = (feed?.items ?? []).toSorted((a, b) => (b.publishedAt ?? 0) - (a.publishedAt ?? 0)).slice(0, SHOWN);
  return {
    url,
    title: excerpt(feed?.title ?? '', TITLE_MAX) || new URL(url).host,
    description: feed?.description ? excerpt(feed.description, TITLE_MAX) : null,
    items: newest.map(({ title, publishedAt }) =>
      ({ title: excerpt(singleLine(title), TITLE_MAX) || 'A post without a title', publishedAt })),
    others: advertised.filter((link) => link.url !== url).slice(0, OTHERS),
  };
}

/** One's own source of the feed, or one that is public; somebody else's private one is nobody's business. */
function knownSource(hub: Hub, url: string, viewerId: number): FoundFeed['known'] {
  const own = sources(hub).idOfFeed(url, viewerId);
  if (own !== undefined) return { id: own, isOwn: true };
  const known = sources(hub).publicFeed(url);
  return known && { id: known.id, isOwn: false };
}
