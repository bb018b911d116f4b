import { isPauseDue } from '../../platform/markup/in-steps.ts';
import { nextRound } from '../../platform/turns.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { throttled, type Hub } from '../hub/hub.ts';
import { searchableText } from '../posts/ingest-posts.ts';
import { posts, type SearchTerms } from '../posts/post-store.ts';
import { fittingContents } from '../posts/query-posts.ts';
import {
  emptyIndex, indexedFrom, noteEdition, noteIndexed, searchIndex, type Unindexed,
} from '../posts/search-index-store.ts';
import { fullTexts } from './full-text-store.ts';

/** The search indexes of the versions before 2.1.0, which nothing reads any more. */
const OLD_INDEXES = ['posts_search', 'full_texts_search'];

/** Maximum number of posts that one transaction indexes anew. */
const STEP = 20;

/**
 * Scheduled task: after an upgrade from a version before 2.1.0, or with another edition of words, indexes all posts
 * anew, newest first, with their full texts. The place reached is stored with each step: a killed worker goes on there,
 * and a search says how far back it looked. The old indexes are emptied meanwhile: their pages make room for the new
 * one.
 */
export async function indexAnew(hub: Hub, stopping: AbortSignal): Promise<void> {
  if (mayRecord(hub)) noteEdition(hub);
  if (indexedFrom(hub) === -Number.MAX_SAFE_INTEGER) return;
  const isOver = (): boolean => stopping.aborted || !mayRecord(hub);
  let isIndexed = false;
  let isEmpty = false;
  while (!isOver()) {
    isIndexed ||= !await indexStep(hub, isOver);
    isEmpty ||= await emptyStep(hub, isOver);
    if (isIndexed && isEmpty) return hub.db.write('posts are indexed anew', () => noteIndexed(hub, null));
  }
}

/** Empties the old indexes for the time of one transaction each. Returns true when nothing is left of them. */
async function emptyStep(hub: Hub, isOver: () => boolean): Promise<boolean> {
  let isBegun = false;
  for (const index of OLD_INDEXES) {
    const empty = (limit: number): number => (isBegun = true, emptyIndex(hub.db, index, limit));
    isBegun = false;
    if (!await throttled(hub)('empty an old search index', empty, () => isBegun || isOver())) return false;
  }
  return true;
}

type Step = { post: Unindexed; terms: SearchTerms; fullText: string | undefined; allTerms: SearchTerms };

async function indexStep(hub: Hub, isOver: () => boolean): Promise<boolean> {
  const some = searchIndex(hub).unindexed(STEP);
  const wanted = some.slice(0, fittingContents(hub, some));
  const pace = { unpaused: 0 };
  const steps: Step[] = [];
  for (const post of wanted) {
    const content = posts(hub).contentOf(post.id);
    const fullText = fullTexts(hub).contentOf(post.id);
    const terms = await searchableText(post, content);
    const allTerms = fullText === undefined ? terms : await searchableText(post, `${content}\n${fullText}`);
    steps.push({ post, terms, fullText, allTerms });
    if (isPauseDue(pace, post.contentBytes + (fullText?.length ?? 0))) await nextRound();
  }
  await throttled(hub)('index posts anew, one step', (limit) => {
    for (const step of steps) putAnew(hub, step);
    const last = steps.at(-1);
    if (last) noteIndexed(hub, last.post.searchKey);
    return Math.min(steps.length, limit - 1); // `throttled` pauses for other writers after this step
  }, isOver);
  return steps.length > 0;
}

function putAnew(hub: Hub, { post, terms, fullText, allTerms }: Step): void {
  // What has changed since it was read, `indexFullTexts` indexes later.
  const isSame = searchIndex(hub).putAnew(post, terms) && fullTexts(hub).contentOf(post.id) === fullText;
  fullTexts(hub).forgetWords(post.id);
  if (!isSame || fullText === undefined) return;
  const current = posts(hub).listed([post.id])[0];
  if (current) fullTexts(hub).index(current, allTerms);
}
