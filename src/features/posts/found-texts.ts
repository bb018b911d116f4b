import { atOnce } from '../../platform/markup/in-steps.ts';
import { readingText } from '../../platform/markup/plain-text.ts';
import type { StoreHub } from '../hub/hub.ts';
import { excerptAround, firstFound, type Found } from './mark-found.ts';
import { posts, type Post } from './post-store.ts';

/** Characters of a content that are looked through, and of all contents of a page: a few milliseconds. */
const OF_A_POST = 12_000;
const OF_A_PAGE = 120_000;

/** Characters that are shown: two lines on a wide window. */
const SHOWN = 220;

/**
 * What a search shows of each post, by its id: the part of its summary, or else of its text, in which something was
 * found; its summary where that is in the title alone, or far below.
 */
export function foundTexts(hub: StoreHub, shown: Pick<Post, 'id' | 'summary'>[], found: Found): Map<number, string> {
  let left = OF_A_PAGE;
  return new Map(shown.map(({ id, summary }): [number, string] => {
    const inSummary = firstFound(summary, found);
    if (inSummary >= 0 || left <= 0) return [id, excerptAround(summary, Math.max(0, inSummary), SHOWN)];
    const markup = posts(hub).beginningOf(id, OF_A_POST);
    left -= markup.length;
    const text = atOnce(readingText(markup)).replaceAll('\n', ' ');
    const place = firstFound(text, found);
    return [id, place < 0 ? excerptAround(summary, 0, SHOWN) : excerptAround(text, place, SHOWN)];
  }));
}
