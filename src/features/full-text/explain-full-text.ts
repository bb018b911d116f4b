import type { FullTextRow } from './full-text-store.ts';
import type { ExtractionRefusal } from './refuse-article.ts';

export type Refusal = ExtractionRefusal | 'robots' | 'not-html' | 'no-address' | 'no-room';

/** Why the fetch of a page failed; a fetch of the page a day later may succeed. */
export type Failure = 'unreachable' | 'bad-answer' | 'robots' | 'error';

const REASONS: Record<Refusal | Failure, readonly [sentence: string, short: string]> = {
  'wall': ['The page first asks for consent to cookies.', 'cookie wall'],
  'paywall': ['Only subscribers can read it.', 'paywall'],
  'front-page': ['The address leads to a front page or a list of posts.', 'front page'],
  'forum': ['The page is a discussion, not an article.', 'discussion'],
  'empty': ['The page has no text that can be read without scripts.', 'no text without scripts'],
  'different': ['The page’s text has nothing in common with the post.', 'another text'],
  'too-large': ['The page is too large.', 'page too large'],
  'no-room': ['The text is larger than all the room that this hub has for full texts.', 'too large for this hub'],
  'robots': [
    'The site’s robots.txt asks programs not to fetch this page by themselves. Press “Full text” to fetch it.',
    'robots.txt',
  ],
  'not-html': ['The address leads to a file, not to a web page.', 'no web page'],
  'no-address': ['The post has no address.', 'no address'],
  'unreachable': ['The hub could not fetch the page.', 'site not reached'],
  'bad-answer': ['The site did not send the page.', 'site refused'],
  'error': ['Something went wrong in the hub.', 'error of the hub'],
};

/** The state of a post's full text; `reason` (a code) and `explanation` say why a post has no full text. */
export type FullTextState = {
  state: FullTextRow['state'] | 'none';
  reason?: string;
  explanation?: string;
};

export function describeFullText(row: FullTextRow | undefined): FullTextState {
  if (!row) return { state: 'none' };
  const { state, reason, dueAt } = row;
  if (reason === null || !isReason(reason)) return { state };
  const next = state === 'failed' && dueAt !== null ? ' It is tried once more after a day.' : '';
  return { state, reason, explanation: (row.detail ?? REASONS[reason][0]) + next };
}

/** A reason in a few words, for counts such as "paywall 3". */
export function shortReason(reason: string): string {
  return isReason(reason) ? REASONS[reason][1] : reason;
}

function isReason(reason: string): reason is keyof typeof REASONS {
  return Object.hasOwn(REASONS, reason);
}
