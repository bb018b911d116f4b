import { inBatches } from '../../platform/db/batched-writes.ts';
import { follows, type Follow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { writeOpml, type ExportedFeed } from './opml.ts';

/** Rows that are read at once. */
const BATCH = 1_000;

/**
 * The feeds of an account as OPML 2.0: its own with their addresses, and what it follows of others' as the hub's feeds
 * of them, since an address may hold a secret.
 */
export function exportOpml(hub: Hub, accountId: number): string {
  const followed = new Map([...inBatches<Follow>((last) => follows(hub).listOf(accountId, last?.sourceId ?? 0, BATCH))]
    .map((follow) => [follow.sourceId, follow.folder]));
  const own = inBatches<Source>((last) => sources(hub).listOwned(accountId, last?.id ?? 0, BATCH));
  const feeds = [...own].flatMap((source) => {
    const folder = followed.get(source.id) ?? null;
    followed.delete(source.id);
    return source.feedUrl === null ? [] : [exported(source, source.feedUrl, folder)];
  });
  const others = [...followed].flatMap(([id, folder]) => {
    const source = sources(hub).find(id);
    const url = `${hub.config.baseUrl}/sources/${id}.atom`;
    return source?.visibility === 'public' ? [exported(source, url, folder)] : [];
  });
  return writeOpml([...feeds, ...others], hub.clock());
}

function exported({ title, siteUrl }: Source, url: string, folder: string | null): ExportedFeed {
  return { title, url, siteUrl, folder };
}
