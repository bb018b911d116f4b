import { createHash } from 'node:crypto';
import { hubSeed } from '../hub/hub-seed-store.ts';
import type { StoreHub } from '../hub/hub.ts';
import type { Source } from '../sources/source-store.ts';
import type { Post } from './post.ts';

/**
 * The ids in Atom and JSON feeds. They hold no address, so that a change of BASE_URL makes nothing new, and are derived
 * from something random that lives as long as the hub or the source: no other one can ever have the same.
 */
export function hubFeedId(hub: StoreHub): string {
  return urnOf(hubSeed(hub), 'posts');
}

export function sourceFeedId({ idSeed }: Pick<Source, 'idSeed'>): string {
  return urnOf(idSeed, 'feed');
}

/** The same when a post was lost with a restore and is fetched once more: readers have it already. */
export function postFeedId({ sourceIdSeed, guid }: Pick<Post, 'sourceIdSeed' | 'guid'>): string {
  return urnOf(sourceIdSeed, `post ${guid}`);
}

/** A UUID of version 8 (RFC 9562), made of the SHA-256 of both. */
function urnOf(seed: string, name: string): string {
  const bytes = createHash('sha256').update(`${seed}\n${name}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return `urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`;
}
