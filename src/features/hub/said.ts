import { plural } from '../../platform/in-words.ts';

type Counted = (count: number) => string;

/** The page's URL contains only the code of a message: a forged link with a text could show any text. */
const SAID = {
  'app-password-ended': 'The app password has ended. The app that uses the app password is refused from now on.',
  'bell-off': 'You will no longer be notified of new posts of this source.',
  'bell-on': 'You will be notified of new posts of this source.',
  'deleted': 'Deleted.',
  'draft-discarded': 'Draft discarded. You can restore it for a day.',
  'draft-restored': 'Draft restored.',
  'draft-saved': 'Draft saved.',
  'folder-deleted': 'The folder was deleted; its sources are still in your list.',
  'folder-renamed': 'The folder was renamed.',
  'full-text-chosen': 'Your choice whether the hub fetches the full text of each new post was saved.',
  'icon-cleared': 'The source is shown with a letter instead of an icon from now on.',
  'icon-wanted': 'The hub is looking for the source’s icon.',
  'invitation-withdrawn': 'The invitation was withdrawn.',
  'look-saved': 'The hub’s new look was saved. Everybody sees the new look from now on.',
  'name-saved': 'Your name was saved.',
  'notifications-read': 'All notifications are marked as read.',
  'offer-accepted': 'You have accepted the offer of the source. The source belongs to you now.',
  'offer-declined': 'The offer was declined.',
  'offer-withdrawn': 'The offer was withdrawn.',
  'own-source-made': 'The source was created. Now write the first post of the source.',
  'password-changed': 'Your password was changed. You are signed out of all other browsers and apps.',
  'post-deleted': 'The post was deleted.',
  'post-published': 'Your post is published.',
  'post-read': 'The post is marked as read.',
  'post-scheduled': 'Scheduled. It goes out at the time you chose.',
  'post-saved': 'Your post was saved.',
  'post-starred': 'The post is starred.',
  'post-unscheduled': 'Unscheduled: the post is a draft again.',
  'post-unread': 'The post is marked as unread.',
  'post-unstarred': 'The post is no longer starred.',
  'post-withdrawn': 'The post was taken back into this draft. Nobody else sees the post until you publish it again.',
  'posts-marked': (count) => `${plural(count, 'post')} marked as read.`,
  'preferences-saved': 'Your preferences were saved.',
  'rule-added': 'The rule was added. The rule acts on posts that arrive from now on.',
  'rule-changed': 'The rule was changed. The rule acts on posts that arrive from now on.',
  'rule-removed': 'The rule was removed.',
  'rules-left-out': (count) => `The import left out ${plural(count, 'rule or search', 'rules and searches')}: an ` +
    'entry was faulty, named a source or folder that is not yours, or was one too many. ' +
    'The entries of the imported file that were not left out are now among your rules and searches.',
  'rules-imported': (count) => `${plural(count, 'rule or search', 'rules and searches')} added.`,
  'search-removed': 'The search is no longer in your sidebar.',
  'search-saved': 'The search is in your sidebar now.',
  'sessions-ended': 'The session has ended.',
  'others-ended': 'You are signed out of all other browsers and apps.',
  'signed-out': 'You are signed out.',
  'nothing-chosen': 'Choose some sources first; nothing was changed.',
  'source-added': 'The source was added to your list.',
  'source-followed': 'This hub already had the feed. You follow the feed now.',
  'source-handed-over': 'The source now belongs to the member who has followed it longest.',
  'source-offered': 'The source was offered. Nothing changes until the offer is accepted.',
  'source-unfollowed': 'The source is no longer in your list.',
  'sources-deleted': (count) => `${plural(count, 'source')} deleted, with all their posts.`,
  'sources-followed': (count) => `${plural(count, 'source')} added to your list.`,
  'sources-moved': (count) => `${plural(count, 'source')} moved.`,
  'sources-paused': (count) => `${plural(count, 'source')} paused.`,
  'sources-resumed': (count) => `${plural(count, 'source')} resumed.`,
  'sources-unfollowed': (count) => `${plural(count, 'source')} removed from your list.`,
  'source-deleted': 'The source and its posts were deleted.',
  'source-paused': 'The source is paused: nothing new is fetched until you resume the source.',
  'source-resumed': 'The source is resumed.',
  'source-saved': 'The source was saved.',
  'source-syncing': 'The hub is looking for new posts now.',
  'source-transferred': 'The source has a new owner.',
  'steps-put-away': 'Hidden. You can bring it back in your settings.',
  'token-revoked': 'The token was revoked. Programs that use the token are refused from now on.',
  'too-late': 'Too late: marking posts as read can be undone for two minutes.',
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

/** The message for the code `said` in a URL, and the id of the change that Undo reverts; undefined without a code. */
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
