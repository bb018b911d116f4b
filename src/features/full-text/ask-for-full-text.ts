import { HOUR, SECOND } from '../../platform/clock.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { limits, metLimit, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { posts, type Post } from '../posts/post-store.ts';
import type { Source } from '../sources/source-store.ts';
import { describeFullText, type FullTextState } from './explain-full-text.ts';
import { enqueueFullText, hasFullTexts } from './fetch-full-text.ts';
import { fullTexts } from './full-text-store.ts';
import { sourceFullTexts } from './source-full-text-store.ts';

/**
 * A request that makes the hub fetch a full text uses one of the member's permits for an hour. One limit with a burst
 * of 60 would admit 120 requests in the first hour.
 */
const PERMITS = 60;
const PERMIT: NamedLimit = { name: 'full-texts', burst: 1, everyMs: HOUR };

/** On request, the hub fetches the full texts of this many posts that a source already has, the newest posts. */
const LAST_POSTS = 20;

/** The hub compares at most this many posts of a new source with their pages. */
const SAMPLES = 3;

/** After members asked this often for a full text of a source, its owner is offered full texts for all new posts. */
const USES_BEFORE_OFFER = 5;

/** Also fetches a page that robots.txt kept from the hub. Throws 409 if no full text is possible, 429 at the limit. */
export function askForFullText(hub: Hub, viewer: Viewer, { id: postId, url, sourceId }: Post): FullTextState {
  if (!hasFullTexts(hub)) throw new HttpError(409, 'This hub keeps no full texts.');
  if (url === null) throw new HttpError(409, 'The post has no address at which the hub could find its full text.');
  const row = fullTexts(hub).find(postId);
  const hasResult = row !== undefined && row.state !== 'waiting' && row.reason !== 'robots';
  const isAskedFor = row?.state === 'waiting' && row.isAsked === 1;
  const isNew = !hasResult && !isAskedFor;
  if (isNew) usePermit(hub, viewer.id);
  hub.db.write('ask for full text', () => {
    sourceFullTexts(hub).addUse(sourceId);
    if (!isNew) return;
    fullTexts(hub).ask(postId);
    enqueueFullText(hub, { postId, url, owner: viewer.id, isAsked: true });
  });
  return describeFullText(fullTexts(hub).find(postId));
}

function usePermit(hub: Hub, accountId: number): void {
  let soonest = Infinity;
  for (let permit = 0; permit < PERMITS && soonest > 0; permit += 1) {
    soonest = Math.min(soonest, limits(hub).take(PERMIT, `${accountId} ${permit}`));
  }
  if (soonest > 0) throw metLimit(hub, PERMIT.name, soonest / SECOND);
}

/** Wants full texts for a source's newest posts with an address, in the caller's transaction; returns their ids. */
export function wantNewest(hub: Hub, sourceId: number, limit = LAST_POSTS): number[] {
  const newest = posts(hub).newest({ viewerId: null, sourceId, limit }).filter(({ url }) => url !== null);
  for (const { id } of newest) fullTexts(hub).want(id);
  return newest.map(({ id }) => id);
}

/** Compares a new source's posts with their pages, as soon as there are any, to decide whether to offer full texts. */
export function planComparison(hub: Hub, sourceId: number): void {
  if (!hasFullTexts(hub)) return;
  hub.db.write('plan comparison', () => {
    sourceFullTexts(hub).setSamples(sourceId, []);
    compareSamples(hub, sourceId);
  });
}

/** Plans, in the caller's transaction, to fetch the pages of a new source's posts, to see if the feed cuts posts. */
export function compareSamples(hub: Hub, sourceId: number): void {
  if (sourceFullTexts(hub).find(sourceId).samples?.length !== 0) return;
  const samples = wantNewest(hub, sourceId, SAMPLES);
  if (samples.length > 0) sourceFullTexts(hub).setSamples(sourceId, samples);
}

/** `used`: members often asked for full texts. `teasers`: most compared posts are teasers, such as `postId`. */
export type FullTextOffer = { why: 'used' | 'comparing' } | { why: 'teasers'; postId: number };

/** The offer of full texts for a source; null without a reason for one, or if it is answered or not the viewer's. */
export function offerOf(hub: Hub, source: Pick<Source, 'id' | 'ownerId'>, viewer: Viewer | null): FullTextOffer | null {
  const { isAlways, isChosen, uses, samples } = sourceFullTexts(hub).find(source.id);
  if (viewer?.id !== source.ownerId || isAlways || isChosen || !hasFullTexts(hub)) return null;
  if (uses >= USES_BEFORE_OFFER) return { why: 'used' };
  const compared = (samples ?? []).map((id) => ({ id, row: fullTexts(hub).find(id) }));
  if (compared.some(({ row }) => row?.state === 'waiting')) return { why: 'comparing' };
  const cut = compared.filter(({ row }) => row?.isCut === 1);
  return cut[0] && cut.length > compared.length / 2 ? { why: 'teasers', postId: cut[0].id } : null;
}
