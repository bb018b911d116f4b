import { isoTime } from '../../platform/clock.ts';
import type { JsonObject } from '../../platform/http/body.ts';
import { id, named, object, from, orNull, readGiven, text, time, type Shown } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { accounts } from '../accounts/account-store.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import { keepFiles, type ReceivedFile } from '../attachments/receive-upload.ts';
import type { Actor, By } from '../audit/audit.ts';
import { enqueue, type Hub, type JobKind, type StoreHub } from '../hub/hub.ts';
import { DEFAULT_PREFERENCES } from '../hub/preferences.ts';
import { notifications } from '../notifications/notification-store.ts';
import type { WholePost } from '../posts/post-store.ts';
import { drafts, formOfScheduled, MAX_DRAFTS, type Draft, type DraftFields, type Tab } from './draft-store.ts';
import { fittingFields } from './form-fields.ts';
import { isSameText, keepDraft, newKey, requireRoomForDraft, tabOf } from './keep-draft.ts';
import { POST_FIELDS, type ChangeFields, type PostFields } from './post-fields.ts';
import { prepareNewPost, rewritePost, storeNewPost } from './write-post.ts';

const PLANNED_AT_ONCE = 50;

/** What a request has made a draft of. Its author can change it on the page `url`. */
export const DRAFT = named('Draft', object({
  draftId: from('id', id), title: text, publishAt: orNull(time), url: text,
}));

export function draftJson(hub: Hub, { id, form, fields, publishAt }: Draft): Shown<typeof DRAFT> {
  return DRAFT.show({ id, title: fields['title'] ?? '', publishAt, url: hub.config.baseUrl + form });
}

/** `form`: the path of the form that shows the draft. `at`: unix ms. */
type Scheduled = { form: string; fields: DraftFields; tab: Tab; files: ReceivedFile[]; at: number };

/** Checks a new post and stores it as a draft that the worker publishes. */
export async function schedulePost(
  hub: Hub, given: PostFields, { at, files, ...post }: Scheduled, by: By,
): Promise<Draft> {
  await prepareNewPost(hub, given, by);
  await keepFiles(hub, files);
  return hub.db.write('schedule post', () => {
    drafts(hub).endSchedule(by.viewer.id, post.form);
    requireRoomForDraft(hub, by.viewer.id, MAX_DRAFTS);
    const draft = keepDraft(hub, by.viewer, post.form, { ...post, files });
    drafts(hub).schedule(draft.id, at);
    return { ...draft, publishAt: at };
  });
}

/** Schedules a post that has no form yet; its draft has what was `sent`. */
export function scheduleNew(
  hub: Hub, given: PostFields, { sent, at, files }: { sent: JsonObject; at: number; files: ReceivedFile[] }, by: By,
): Promise<Draft> {
  const texts = Object.entries(sent).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  const typed = Object.fromEntries(texts.map(([name, value]) => [name, String(value)]));
  const fields = fittingFields({ contentType: 'text/plain', ...typed, publishAt: isoTime(at) });
  return schedulePost(hub, given, { form: `/write/${newKey()}`, ...fields, files, at }, by);
}

type Changes = ChangeFields & { publishAt?: 'alone' | 'beside' };

/** The draft whose schedule a request ends: `publishAt` alone names it by its id. */
export function draftOfChange(hub: Hub, id: number, { publishAt }: Changes, viewer: Viewer) {
  return publishAt === 'alone' ? drafts(hub).findById(viewer.id, id) : undefined;
}

/** Changes the given fields of a post, or ends the schedule of a draft. */
export async function changePost(hub: Hub, id: number, given: Changes, by: By): Promise<WholePost | Draft> {
  const draft = draftOfChange(hub, id, given, by.viewer);
  if (!draft) return rewritePost(hub, id, given, { files: [] }, by);
  unschedule(hub, by.viewer.id, formOfScheduled(draft));
  return drafts(hub).findById(by.viewer.id, id) ?? draft;
}

/** Ends the schedule of a form. A newer draft keeps the form; what was scheduled, if it differs, gets its own. */
export function unschedule(hub: Hub, accountId: number, form: string): void {
  hub.db.write('unschedule', () => {
    const [draft, scheduled] = [drafts(hub).find(accountId, form), drafts(hub).scheduled(accountId, form)];
    if (draft && scheduled && isSameDraft(hub, draft, scheduled)) drafts(hub).endSchedule(accountId, form);
    else if (scheduled) makeDraft(hub, scheduled);
  });
}

function isSameDraft(hub: Hub, one: Draft, other: Draft): boolean {
  const filesOf = ({ id }: Draft): string =>
    draftFiles(hub).ofDraft(id).map(({ filename, sha256 }) => filename + sha256).sort().join();
  return isSameText(one.fields, other.fields) && filesOf(one) === filesOf(other);
}

function makeDraft(hub: StoreHub, scheduled: Draft): Draft {
  const { id, accountId, form } = scheduled;
  drafts(hub).schedule(id, null);
  if (form === formOfScheduled(scheduled)) return scheduled;
  const isTaken = drafts(hub).find(accountId, formOfScheduled(scheduled));
  const own = isTaken ? `/write/${newKey()}` : formOfScheduled(scheduled);
  drafts(hub).moveTo(id, own);
  return { ...scheduled, form: own, publishAt: null };
}

/** The fields of the post that a draft becomes. */
function postOf({ fields }: Draft): PostFields {
  return readGiven(POST_FIELDS, { ...fields, contentType: fields['contentType'] || 'text/plain' });
}

/** Enqueues jobs for the scheduled posts that are due, PLANNED_AT_ONCE at a time. */
export function planDuePosts(hub: Hub): void {
  const due = drafts(hub).due(hub.clock(), PLANNED_AT_ONCE);
  if (due.length === 0) return;
  hub.db.write('plan due posts', () => due.forEach((draftId) => enqueue(hub, publishDraft, { draftId })));
}

/** Publishes a scheduled post for its author, who is told if the post cannot be published and stays a draft. */
export const publishDraft: JobKind<{ draftId: number }> = {
  name: 'publish-draft',
  key: ({ draftId }) => String(draftId),
  attempts: 5,
  concurrency: 2,
  afterRestore: 'discard',
  stores: true,

  async run(hub, { draftId }) {
    const draft = drafts(hub).findDue(draftId, hub.clock());
    if (!draft) return; // the draft was changed, discarded or published meanwhile
    try {
      const by = authorOf(hub, draft.accountId);
      const actor: Actor = { id: by.viewer.id, name: by.viewer.username, address: null };
      const form = { path: formOfScheduled(draft), tab: tabOf({}) };
      const post = await prepareNewPost(hub, postOf(draft), by, form, draft);
      return () => publish(hub, draft, () => storeNewPost(hub, post, [], by, actor));
    } catch (error) {
      if (!(error instanceof HttpError) || error.status === 503) throw error; // busy: the worker repeats the job
      return () => giveUp(hub, draft, error);
    }
  },

  // A busy hub tries again without end. Any other fault, or a draft that ends its worker, would come back for ever.
  failed(hub, { draftId }, error, fate) {
    const draft = drafts(hub).findDue(draftId, hub.clock());
    const isBusy = error instanceof HttpError && error.status === 503;
    if (fate === 'failed' && draft && !isBusy) giveUp(hub, draft, new Error('The hub could not store it.'));
  },
};

function publish(hub: Hub, draft: Draft, store: () => void): void {
  if (drafts(hub).findDue(draft.id, hub.clock())?.revision !== draft.revision) return;
  try {
    hub.db.write('publish draft', store);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    giveUp(hub, draft, error);
  }
}

function giveUp(hub: StoreHub, draft: Draft, { message }: Error): void {
  tellAuthor(hub, makeDraft(hub, draft), 'Your post', `was not published: ${message}`);
}

/** The author of a scheduled post, as whom the worker publishes it. Throws 403 if the account is disabled or gone. */
function authorOf(hub: Hub, accountId: number): Pick<By, 'viewer'> {
  const account = accounts(hub).find(accountId);
  if (!account || account.disabledAt !== null) throw new HttpError(403, 'The author’s account is disabled.');
  const viewer: Viewer = { ...account, via: 'session', credentialId: 0, preferences: DEFAULT_PREFERENCES };
  return { viewer };
}

/** Ends all schedules of a restored database, so that no copy of a hub publishes, and tells the authors. */
export function unscheduleAll(hub: StoreHub): void {
  for (const draft of drafts(hub).allScheduled()) {
    const outcome = 'is a draft again, because the hub was restored from a backup';
    tellAuthor(hub, makeDraft(hub, draft), 'Your scheduled post', outcome);
  }
}

function tellAuthor(hub: StoreHub, { accountId, form, fields }: Draft, what: string, outcome: string): void {
  const title = `${what} “${fields['title'] ?? ''}” ${outcome}`;
  notifications(hub).add({ accountId, kind: 'post.unscheduled', title, path: form });
}
