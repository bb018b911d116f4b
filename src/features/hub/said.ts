import { plural } from '../../platform/in-words.ts';

type Counted = (count: number) => string;

/** The page's URL has the code of a message, and numbers, but no text: a forged link could show any. */
const SAID = {
  'app-password-ended': 'Password removed. The app can no longer sign in.',
  'bell-off': 'You will no longer be notified of its new posts.',
  'bell-on': 'You will be notified of its new posts.',
  'deleted': 'Deleted.',
  'draft-discarded': 'Draft discarded. You can restore it for a day.',
  'draft-restored': 'Draft restored.',
  'draft-saved': 'Draft saved.',
  'folder-deleted': 'The folder was deleted; its sources are still in your list.',
  'folder-renamed': 'The folder was renamed.',
  'full-text-chosen': 'Saved.',
  'icon-cleared': 'It has a letter instead of an icon now.',
  'icon-wanted': 'The hub is looking for an icon.',
  'invitation-withdrawn': 'The invitation was withdrawn.',
  'look-saved': 'Saved. Everybody sees it now.',
  'name-saved': 'Your name was saved.',
  'notifications-read': 'All notifications are marked as read.',
  'offer-accepted': 'Accepted: the source belongs to you now.',
  'offer-declined': 'The offer was declined.',
  'offer-withdrawn': 'The offer was withdrawn.',
  'own-source-made': 'Created. Now write its first post.',
  'password-changed': 'Password changed. You are signed out everywhere else.',
  'post-deleted': 'The post was deleted.',
  'post-published': 'Your post is published.',
  'post-read': 'Marked as read.',
  'post-scheduled': 'Scheduled. It goes out at the time you chose.',
  'post-saved': 'Your post was saved.',
  'post-starred': 'Starred.',
  'post-unscheduled': 'Unscheduled: it is a draft again.',
  'post-unread': 'Marked as unread.',
  'post-unstarred': 'The star was removed.',
  'post-withdrawn': 'Taken back into this draft. Nobody else sees it until you publish it again.',
  'posts-marked': (count) => `${plural(count, 'post')} marked as read.`,
  'preferences-saved': 'Your preferences were saved.',
  'rule-added': 'Rule added. It applies to new posts.',
  'rule-changed': 'Rule changed. It applies to new posts.',
  'rule-removed': 'Rule removed.',
  'rules-left-out': (count) => `${plural(count, 'rule or search', 'rules and searches')} left out: faulty, for a ` +
    'source or folder that is not yours, or too many. The others were added.',
  'rules-imported': (count) => `${plural(count, 'rule or search', 'rules and searches')} added.`,
  'search-removed': 'It is no longer in your sidebar.',
  'search-saved': 'Saved: it is in your sidebar.',
  'sessions-ended': 'The session has ended.',
  'others-ended': 'You are signed out everywhere else.',
  'signed-out': 'You are signed out.',
  'nothing-chosen': 'Choose some sources first; nothing was changed.',
  'source-added': 'Added: it is in your list.',
  'source-followed': 'Somebody here had it already. You follow it now.',
  'source-handed-over': 'It now belongs to the member who has followed it longest.',
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
  'steps-put-away': 'Hidden. You can bring it back in your settings.',
  'token-revoked': 'Token revoked. Programs that use it are refused from now on.',
  'too-late': 'Too late: this can be undone for two minutes.',
  'undone': 'Undone.',
} satisfies Record<string, string | Counted>;

export type SaidCode = keyof typeof SAID;

/** Adds the code of a message to the query of a page's path. `undo`: the id of the change that Undo reverts. */
export function saying(path: string, code: SaidCode, about: { count?: number; undo?: number } = {}): string {
  const [beforeHash = '', hash] = path.split('#', 2);
  const [place = '', search = ''] = beforeHash.split('?', 2);
  const query = new URLSearchParams(search);
  for (const name of ['said', 'count', 'undo']) query.delete(name);
  query.set('said', code);
  for (const [name, value] of Object.entries(about)) query.set(name, String(value));
  return `${place}?${query.toString()}${hash === undefined ? '' : `#${hash}`}`;
}

/** What the code `said` in a URL says, and the id of the change that Undo reverts; undefined without a known code. */
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
