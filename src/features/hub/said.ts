import { plural } from '../../platform/in-words.ts';
/** Words for the number of things it happened to. */
type Counted = (count: number) => string;

/**
 * Messages about what just happened, by the code in the page's address. The address never carries the text itself: a
 * link could then show any text.
 */
const SAID = {
  'bell-off': 'You will no longer be notified of its new posts.',
  'bell-on': 'You will be notified of its new posts.',
  'deleted': 'Deleted.',
  'draft-discarded': 'The draft was discarded.',
  'folder-deleted': 'The folder was deleted; its sources are still in your list.',
  'folder-renamed': 'The folder was renamed.',
  'history-cleared': 'Your reading history was cleared.',
  'icon-cleared': 'It is shown with a letter from now on.',
  'icon-wanted': 'The hub is looking for its icon.',
  'invitation-withdrawn': 'The invitation was withdrawn.',
  'job-discarded': 'The job was discarded.',
  'job-retried': 'The job will run again.',
  'look-saved': 'Saved. Everybody sees it from now on.',
  'name-saved': 'Your name was saved.',
  'notifications-read': 'All notifications are marked as read.',
  'offer-accepted': 'Accepted: the source belongs to you now.',
  'offer-declined': 'The offer was declined.',
  'offer-withdrawn': 'The offer was withdrawn.',
  'own-source-made': 'Created. Now write its first post.',
  'password-changed': 'Your password was changed. You are signed out everywhere else.',
  'post-deleted': 'The post was deleted.',
  'post-published': 'Your post is published.',
  'post-read': 'Marked as read.',
  'post-saved': 'Your post was saved.',
  'post-starred': 'Starred.',
  'post-unread': 'Marked as unread.',
  'post-unstarred': 'The star was removed.',
  'posts-marked': (count) => `${plural(count, 'post')} marked as read.`,
  'preferences-saved': 'Your preferences were saved.',
  'sessions-ended': 'That session has ended.',
  'others-ended': 'You are signed out everywhere else.',
  'signed-out': 'You are signed out.',
  'nothing-chosen': 'Choose some sources first; nothing was changed.',
  'source-added': 'Added: it is in your list.',
  'source-followed': 'This hub already had the feed. You follow it now.',
  'source-handed-over': 'It now belongs to the account that has followed it longest.',
  'source-offered': 'Offered. Nothing changes until it is accepted.',
  'source-unfollowed': 'It is no longer in your list.',
  'sources-deleted': (count) => `${plural(count, 'source')} deleted, with all their posts.`,
  'sources-followed': (count) => `${plural(count, 'source')} added to your list.`,
  'sources-moved': (count) => `${plural(count, 'source')} moved.`,
  'sources-paused': (count) => `${plural(count, 'source')} paused.`,
  'sources-resumed': (count) => `${plural(count, 'source')} resumed.`,
  'sources-unfollowed': (count) => `${plural(count, 'source')} removed from your list.`,
  'source-deleted': 'The source was deleted, with its posts.',
  'source-paused': 'Paused: nothing new is fetched until you resume it.',
  'source-resumed': 'Resumed.',
  'source-saved': 'Saved.',
  'source-syncing': 'The hub is looking for new posts now.',
  'source-transferred': 'The source has a new owner.',
  'steps-put-away': 'Put away. A choice in your settings brings it back.',
  'token-revoked': 'The token was revoked. Programs that use it are refused from now on.',
  'too-late': 'It is too late to undo that: it was possible for a minute.',
  'undone': 'Undone: everything is as it was before.',
} satisfies Record<string, string | Counted>;

export type SaidCode = keyof typeof SAID;

/** The page's path with a message code. `undo`: what its Undo button reverts. `count`: how many things changed. */
export function saying(path: string, code: SaidCode, about: { count?: number; undo?: number } = {}): string {
  const [beforeHash = '', hash] = path.split('#', 2);
  const [place = '', search = ''] = beforeHash.split('?', 2);
  const query = new URLSearchParams(search);
  for (const name of ['said', 'count', 'undo']) query.delete(name);
  query.set('said', code);
  for (const [name, value] of Object.entries(about)) query.set(name, String(value));
  return `${place}?${query.toString()}${hash === undefined ? '' : `#${hash}`}`;
}

/** The message for an address, and what reverts it; undefined if the address has no code. */
export function readSaid(target: string): { text: string; undo: number | null; page: string } | undefined {
  const [path = '', search = ''] = target.split('?', 2);
  const query = new URLSearchParams(search);
  const said = Object.entries(SAID).find(([code]) => code === query.get('said'))?.[1] as string | Counted | undefined;
  if (said === undefined) return undefined;
  const [count, undo] = [numberIn(query, 'count'), numberIn(query, 'undo')];
  for (const name of ['said', 'count', 'undo']) query.delete(name);
  const rest = query.toString();
  return { text: typeof said === 'string' ? said : said(count ?? 0), undo, page: rest ? `${path}?${rest}` : path };
}

function numberIn(query: URLSearchParams, name: string): number | null {
  const value = query.get(name) ?? '';
  return /^\d{1,12}$/.test(value) ? Number(value) : null;
}
