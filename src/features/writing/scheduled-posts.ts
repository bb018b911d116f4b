import { DAY, isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { pathId, readInput } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { wallTime } from '../../platform/http/times.ts';
import { accounts } from '../accounts/account-store.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import {
  firstValues, isMultipart, keepFiles, receiveUpload, type ReceivedFile,
} from '../attachments/receive-upload.ts';
import type { Actor, By } from '../audit/audit.ts';
import { enqueue, type Hub, type JobKind, type StoreHub } from '../hub/hub.ts';
import { DEFAULT_PREFERENCES } from '../hub/preferences.ts';
import { notifications } from '../notifications/notification-store.ts';
import { postJson } from '../posts/query-posts.ts';
import { drafts, formOfScheduled, MAX_DRAFTS, type Draft, type DraftFields, type Tab } from './draft-store.ts';
import { fittingFields } from './form-fields.ts';
import { isSameText, keepDraft, newKey, requireRoomForDraft } from './keep-draft.ts';
import { JSON_LIMIT, NO_FILES, prepareNewPost, rewritePost, storeNewPost, writePost } from './write-post.ts';

const FURTHEST = 366 * DAY;
const PLANNED_AT_ONCE = 50;

/** Reads the time of a form (`2026-11-27T09:00`, in the viewer's time zone) or of the API (RFC 3339), as unix ms. */
export function readPublishAt(hub: Hub, typed: string, { preferences }: Viewer): number {
  const at = wallTime(typed, preferences.timeZone ?? undefined);
  if (at !== undefined && at > hub.clock() && at <= hub.clock() + FURTHEST) return at;
  const detail = 'publishAt must be a time within the next year, such as 2026-12-31T12:00:00Z.';
  throw invalid([{ pointer: '/publishAt', detail }]);
}

/** `form`: the path of the form that shows the draft. `at`: unix ms. `values`: the fields as a program sent them. */
type Scheduled = {
  form: string; fields: DraftFields; tab: Tab; files: ReceivedFile[]; at: number; values?: Record<string, unknown>;
};

/** Checks a new post and stores it as a draft that the worker publishes. */
export async function schedulePost(hub: Hub, { at, files, values, ...post }: Scheduled, by: By): Promise<Draft> {
  await prepareNewPost(hub, values ?? valuesOf(post.fields), by);
  await keepFiles(hub, files);
  return hub.db.write('schedule post', () => {
    drafts(hub).endSchedule(by.viewer.id, post.form);
    requireRoomForDraft(hub, by.viewer.id, MAX_DRAFTS);
    const draft = keepDraft(hub, by.viewer, post.form, { ...post, files });
    drafts(hub).schedule(draft.id, at);
    return { ...draft, publishAt: at };
  });
}

/** API: the answer to a request that has made a draft. The author can change it on the page `url`. */
export function draftCreated(hub: Hub, draft: Draft): Reply {
  return json(draftJson(hub, draft), 201, { location: hub.config.baseUrl + draft.form });
}

function draftJson(hub: Hub, { id, form, fields, publishAt }: Draft): object {
  const url = hub.config.baseUrl + form;
  return { draftId: id, title: fields['title'], publishAt: publishAt && isoTime(publishAt), url };
}

/** API: creates a post, from JSON or a form with files; with `publishAt`, a draft that the worker publishes. */
export async function createPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  if (!isMultipart(req)) return createFrom(hub, req, await readJson(req, JSON_LIMIT), []);
  return receiveUpload(hub, req, ({ fields, files }) => createFrom(hub, req, firstValues(fields), files));
}

async function createFrom(
  hub: Hub, req: MemberRequest, values: Record<string, unknown>, files: ReceivedFile[],
): Promise<Reply> {
  if (values['publishAt'] === undefined) {
    const post = await writePost(hub, values, { files }, req);
    return json(postJson(hub, post), 201, { location: `${hub.config.baseUrl}/api/posts/${post.id}` });
  }
  const at = readPublishAt(hub, readInput(values, (input) => input.text('publishAt', { max: 64 })), req.viewer);
  const texts = Object.entries(values).flatMap(([name, value]) =>
    (typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : []));
  const sent = { contentType: 'text/plain', ...Object.fromEntries(texts), publishAt: isoTime(at) };
  const post = { form: `/write/${newKey()}`, ...fittingFields(sent), files, at, values };
  return draftCreated(hub, await schedulePost(hub, post, req));
}

/** API: changes the fields of a post that the request names. `publishAt: null` alone ends the schedule of a draft. */
export async function changePost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { publishAt, ...values } = await readJson(req, JSON_LIMIT);
  const id = pathId(req.params);
  if (publishAt != null) throw invalid([{ pointer: '/publishAt', detail: 'publishAt can only be null: unschedule.' }]);
  const isAlone = publishAt === null && Object.keys(values).length === 0;
  const draft = isAlone ? drafts(hub).findById(req.viewer.id, id) : undefined;
  if (!draft) return json(postJson(hub, await rewritePost(hub, id, values, NO_FILES, req)));
  unschedule(hub, req.viewer.id, formOfScheduled(draft));
  return json(draftJson(hub, drafts(hub).findById(req.viewer.id, id) ?? draft));
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

function valuesOf({ publishAt, contentType, ...fields }: DraftFields): DraftFields {
  return { ...fields, contentType: contentType || 'text/plain' };
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
      const post = await prepareNewPost(hub, valuesOf(draft.fields), by, formOfScheduled(draft), draft);
      return () => publish(hub, draft, () => storeNewPost(hub, post, [], by, actor));
    } catch (error) {
      if (!(error instanceof HttpError) || error.status === 503) throw error; // busy: the worker repeats the job
      return () => giveUp(hub, draft, error);
    }
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

function giveUp(hub: Hub, draft: Draft, { message }: HttpError): void {
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
