import {
  array, choice, flag, from, id, integer, named, noted, object, orNull, text, time, type Shape,
} from '../../platform/http/fields.ts';
import { EXPORTED_SESSION } from '../accounts/account-acts.ts';
import { ACCOUNT } from '../accounts/account-store.ts';
import { INVITATION } from '../accounts/invitation-list.ts';
import { PREFERENCES } from '../accounts/preference-acts.ts';
import { TOKEN } from '../accounts/token-acts.ts';
import { AUDIT_RECORD } from '../audit/audit-list.ts';
import type { ExportPart } from '../hub/tables.ts';
import { OUTCOMES } from '../manage-sources/import-store.ts';
import { OFFER_MEMBERS } from '../manage-sources/offer-list.ts';
import { SOURCE } from '../manage-sources/source-json.ts';
import { NOTIFICATION } from '../notifications/notification-list.ts';
import { POST } from '../posts/query-posts.ts';
import { HISTORY_ENTRY } from '../reading/history-list.ts';
import { LIST_SHOWS } from '../reading/list-choice-store.ts';
import { ORDER_NAMES } from '../reading/list-orders.ts';
import { SAVED_SEARCH } from '../reading/saved-searches.ts';
import { RULE } from '../rules/rule-acts.ts';
import { VISIBILITIES } from '../sources/source-store.ts';

/** The rows of an account's export, by the part that lists them. */
export const ROWS = {
  sessions: EXPORTED_SESSION,
  signInNetworks: object({ network: text, lastUsedAt: from('seenAt', time) }),
  tokens: TOKEN,
  invitations: INVITATION,
  sources: SOURCE,
  posts: POST,
  drafts: noted(object({
    form: text, savedAt: time,
    files: array(object({ filename: text, mediaType: text, bytes: integer, sha256: text })),
  }), { additionalProperties: text.schema, description: 'The other members are fields of the form' }),
  offers: object({
    ...OFFER_MEMBERS, source: object({ id, title: orNull(text) }),
    endedAt: noted(orNull(time), 'When the offer of a source was declined or expired'),
  }),
  imports: object({
    visibility: choice(VISIBILITIES), madeAt: time, doneAt: orNull(time),
    lines: array(object({
      url: text, title: text, folder: orNull(text), outcome: orNull(choice(OUTCOMES)), reason: orNull(text),
      sourceId: orNull(id),
    })),
  }),
  follows: object({
    sourceId: id, title: orNull(text), ownTitle: orNull(text), folder: orNull(text), notify: flag, hideGlobally: flag,
    readUpTo: integer, since: from('createdAt', time),
  }),
  listChoices: object({ list: text, order: choice(ORDER_NAMES), show: choice(LIST_SHOWS), chosenAt: time }),
  stars: object({ postId: id, title: orNull(text), starredAt: time }),
  readMarks: object({ sourceId: id, postId: id, read: flag, markedAt: orNull(time) }),
  rules: RULE,
  searches: SAVED_SEARCH,
  mutedPosts: object({ sourceId: id, postId: id, ruleId: id }),
  withdrawnStates: object({ draftId: id, read: orNull(flag), starredAt: orNull(time) }),
  history: HISTORY_ENTRY,
  notifications: NOTIFICATION,
  acts: AUDIT_RECORD,
} satisfies Record<ExportPart, Shape>;

export const ACCOUNT_EXPORT = named('AccountExport', object({
  exportedAt: time, account: ACCOUNT, preferences: object(PREFERENCES),
  ...Object.fromEntries(Object.entries<Shape>(ROWS).map(([name, row]) => [name, array(row)])),
}));
