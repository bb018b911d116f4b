import type { Hub } from '../hub/hub.ts';
import { saysItLeadsHere } from '../hub/own-address.ts';
import type { Source } from '../sources/source-store.ts';

export function ownFeedUrl({ config }: Pick<Hub, 'config'>, sourceId: number): string {
  return `${config.baseUrl}/sources/${sourceId}.atom`;
}

/** The source id in the address of a feed that this hub publishes; undefined for any other address. */
export function ownFeedId({ config }: Pick<Hub, 'config'>, address: string): number | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  const id = /^\/sources\/([1-9]\d{0,14})\.(?:atom|json)$/.exec(url.pathname)?.[1];
  return id !== undefined && saysItLeadsHere(config, url) ? Number(id) : undefined;
}

/** The source's web site, or its page on the hub if none is known. */
export function siteOf({ config }: Pick<Hub, 'config'>, { id, siteUrl }: Pick<Source, 'id' | 'siteUrl'>): string {
  return siteUrl ?? `${config.baseUrl}/sources/${id}`;
}
