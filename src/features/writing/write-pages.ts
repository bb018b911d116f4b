import { MINUTE } from '../../platform/clock.ts';
import { toHttpError } from '../../platform/http/answer-request.ts';
import { readJson } from '../../platform/http/body.ts';
import { readGiven } from '../../platform/http/fields.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import { readMultipart } from '../../platform/http/read-multipart.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { json, page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { byteSize } from '../../platform/in-words.ts';
import { errorFields } from '../../platform/log.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { nextTurn } from '../../platform/turns.ts';
import { accounts } from '../accounts/account-store.ts';
import { signInAgain } from '../accounts/sign-in-pages.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import {
  firstValues, formLimits, isMultipart, keepFiles, receiveUpload, type ReceivedFile,
} from '../attachments/receive-upload.ts';
import { noteError } from '../errors/error-store.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { takeTurn, type Hub } from '../hub/hub.ts';
import type { RefusedForm } from '../hub/acts.ts';
import { saying, type SaidCode } from '../hub/said.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { changeablePost, writableSource } from '../posts/post-access.ts';
import type { WholePost } from '../posts/post-store.ts';
import { postTexts } from '../posts/post-text-store.ts';
import { manySources, mayManage, sources, type Source } from '../sources/source-store.ts';
import { drafts, type Draft, type DraftFields } from './draft-store.ts';
import { fieldsOfPost, fillForm, shownContent } from './fill-form.ts';
import { contentWithLineFeeds, cutSentences, fittingFields } from './form-fields.ts';
import {
  formPath, giveKey, keepDraft, newKey, openDraft, provenAccount, removeDraftFile, tabOf,
} from './keep-draft.ts';
import { CHANGE_FIELDS, inThePast, JSON_LIMIT, POST_FIELDS, readSentPost, TEXT_FIELDS } from './post-fields.ts';
import { schedulePost, unschedule as endSchedule } from './scheduled-posts.ts';
import { previewContent, removeFile, rewritePost, writePost, type Beside } from './write-post.ts';
import { changePostPage, firstPlacePage, writePage, type PostForm } from './write-views.ts';

/** Of one account. A late form is one that was sent after its session ended. */
const LATE_FORMS: NamedLimit = { name: 'late-forms', burst: 10, everyMs: MINUTE };

/** Page: the form for a new post, or for a draft. It selects the draft's source, or `?source=`, or the last used. */
export function showWrite(hub: Hub, req: MemberRequest): Reply {
  const wanted = req.query.get('source') ?? '';
  if (wanted) writableSource(hub, pathId({ id: wanted }), req.viewer);
  const opened = openDraft(hub, req, formPath(req));
  const draft = opened?.form === '/write' && mayRecord(hub) ? giveKey(hub, opened) : opened;
  const path = draft?.form ?? formPath(req);
  const published = draft ? undefined : postTexts(hub).postOfForm(req.viewer.id, path);
  const change = `/posts/${published}/edit`;
  if (published) return seeOther(drafts(hub).find(req.viewer.id, change) ? change : `/posts/${published}`);
  const takenBack = draft ? undefined : drafts(hub).takenBackFrom(req.viewer.id, path);
  if (takenBack?.form) return seeOther(takenBack.form);
  const place = draft?.fields['sourceId'] || wanted || String(postTexts(hub).lastPlaceOf(req.viewer.id) ?? '');
  const typed = fittingFields({ ...draft?.fields, sourceId: place });
  // Each new form has a path of its own, so that several new posts can have drafts.
  const form = fillForm(hub, req, draft || path !== '/write' ? path : `/write/${newKey()}`, typed);
  const others = req.path === '/write' ? drafts(hub).list(req.viewer.id).filter(({ id }) => id !== draft?.id) : [];
  const hasDiscarded = req.query.get('said') === 'draft-discarded';
  return page(writeForm(hub, req, { ...form, isOpened: draft !== undefined, drafts: others, hasDiscarded }));
}

function writeForm(hub: Hub, { viewer }: MemberRequest, form: PostForm): Page {
  const places = writableSources(hub, viewer, form.values['sourceId']);
  return places.length > 0 ? writePage(places, form) : firstPlacePage({}, form);
}

/** The viewer's native sources, and the chosen source if an administrator writes for another owner. */
function writableSources(hub: Hub, viewer: Viewer, chosen = ''): Source[] {
  const own = manySources(hub).nativeOf(viewer.id);
  const other = own.some(({ id }) => String(id) === chosen) ? undefined : sources(hub).find(parseId(chosen) ?? 0);
  return other?.kind === 'native' && mayManage(other, viewer) ? [...own, other] : own;
}

/** POST /write and /write/:draft: publishes or schedules a post, or does what `submitForm` does for other buttons. */
export function submitPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  return submitForm(hub, req, (form) => writeForm(hub, req, form), async (values, sent) => {
    if (!values['sourceId']) throw invalid([{ pointer: '/sourceId', detail: 'Choose a source for this post.' }]);
    const typed = { ...values, publishAt: values['publishAt'] || undefined };
    const { publishAt: at, ...post } = readSentPost(hub, typed, req.viewer);
    if (at === undefined) return said(await writePost(hub, post, sent, req), 'post-published');
    await schedulePost(hub, post, { form: formPath(req), ...fittingFields(values), files: sent.files, at }, req);
    return saying('/write', 'post-scheduled');
  });
}

/** The path of the form that asked first for a source of the member's own. */
export function formOfPlace({ form = '' }: Record<string, string>): string {
  return form.startsWith('/write/') ? form : '/write';
}

export function showPlaceAgain(hub: Hub, req: MemberRequest, { values, problem }: RefusedForm): Reply {
  const path = formOfPlace(values);
  const written = fillForm(hub, req, path, fittingFields(drafts(hub).find(req.viewer.id, path)?.fields ?? {}));
  return page(firstPlacePage({ values, problem }, written), problem.status, problem.headers);
}

/** Page: the form of a stored post. */
export async function showChangePost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = changeablePost(hub, pathId(req.params), req.viewer);
  const draft = openDraft(hub, req, formPath(req));
  const typed = fittingFields(draft?.fields ?? await fieldsOfPost(hub, post, req.viewer));
  if (post.contentHtml.length > STEP) await nextTurn();
  const form = fillForm(hub, req, formPath(req), typed);
  return page(changePostPage(post, { ...form, isOpened: draft !== undefined }));
}

/** POST /posts/:id/edit: stores a changed post with new files, or does what `submitForm` does for other buttons. */
export function submitPostChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = changeablePost(hub, pathId(req.params), req.viewer);
  return submitForm(hub, req, (form) => changePostPage(post, form), async (values, sent) => {
    const changes = readGiven(CHANGE_FIELDS, values, { check: inThePast(hub) });
    return said(await rewritePost(hub, post.id, changes, sent, req), 'post-saved');
  });
}

function said({ id }: WholePost, code: SaidCode): string {
  return saying(`/posts/${id}`, code);
}

/** Saves the draft that the script of the page sends as JSON while the author types; `preview` asks for its HTML. */
export async function submitDraft(hub: Hub, req: MemberRequest): Promise<Reply> {
  const path = formPath(req);
  if (path !== '/write' && req.params['id']) changeablePost(hub, pathId(req.params), req.viewer);
  const sent = await readJson(req, JSON_LIMIT);
  const texts = Object.entries(sent).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const typed = fittingFields(Object.fromEntries(texts));
  if (typed.cut.length > 0) throw new HttpError(422, cutSentences(typed.cut, 'kept').join(' '));
  const { revision } = keepDraft(hub, req.viewer, path, typed);
  if (sent['preview'] !== '1') return json({ revision });
  const contentHtml = await previewContent(hub, readGiven(TEXT_FIELDS, sent), req);
  const preview = await shownContent(hub, req, typed.fields, contentHtml);
  return json({ revision, preview: preview.markup });
}

/** Removes a file of a post. The author's unsaved changes of the post become a draft. */
export async function submitDeleteAttachment(hub: Hub, req: MemberRequest): Promise<Reply> {
  const sent = isMultipart(req) ? await readMultipart(req, formLimits(hub), async () => {}) : undefined;
  const { postId } = removeFile(hub, pathId(req.params), req);
  const [form, typed] = [`/posts/${postId}/edit`, fittingFields(firstValues(sent ?? new Map()))];
  try {
    if (sent?.has('content')) keepDraft(hub, req.viewer, form, typed);
    return seeOther(saying(form, 'deleted'));
  } catch (error) {
    const problem = toHttpError(error);
    const shown = { ...fillForm(hub, req, form, typed, problem), problem };
    return page(changePostPage(changeablePost(hub, postId, req.viewer), shown), problem.status);
  }
}

/**
 * Stores the form's post by `act`, which returns the next page, or previews it, or only saves the draft, removes a file
 * or ends the schedule. A refused post becomes a draft, or a pending draft if the session has ended; an incomplete text
 * replaces no draft.
 */
async function submitForm(
  hub: Hub, req: MemberRequest, again: (form: PostForm) => Page,
  act: (values: DraftFields, sent: Beside) => Promise<string>,
): Promise<Reply> {
  const typed = new Map<string, string[]>();
  const [path, accountId] = [formPath(req), req.viewer.id];
  const wantsJson = req.headers.accept === 'application/json'; // the page's script, which uploads files, asks for JSON
  let kept: Draft | undefined;
  const keep = async (files: ReceivedFile[] = []): Promise<void> => {
    await keepFiles(hub, files);
    kept = keepDraft(hub, req.viewer, path, { ...fittingFields(firstValues(typed)), files });
  };
  try {
    return await receiveUpload(hub, req, async ({ files }) => {
      const { preview, save, remove, unschedule, ...values } = contentWithLineFeeds(firstValues(typed));
      if (save !== undefined || remove !== undefined || unschedule !== undefined) {
        await keep(files);
        if (unschedule !== undefined) endSchedule(hub, accountId, path);
        removeDraftFile(hub, accountId, path, parseId(remove ?? '') ?? 0);
        if (wantsJson) return json(filesJson(hub, kept));
        return seeOther(saying(path, unschedule === undefined ? 'draft-saved' : 'post-unscheduled'));
      }
      if (preview !== undefined) {
        await keep(files).catch(logging(hub));
        const shown = await previewOf(hub, req, values);
        return page(again({ ...fillForm(hub, req, path, fittingFields(values)), preview: shown }));
      }
      const form = { path, tab: tabOf(values), version: values['version'] };
      return seeOther(await act(values, { files, form }).catch(async (error: unknown) => {
        await keep(files).catch(logging(hub));
        throw error;
      }));
    }, typed);
  } catch (error) {
    const problem = toHttpError(error);
    if (problem.status === 500 || typed.size === 0 || wantsJson) throw error;
    if (problem.status === 401) return keepUntilSignIn(hub, req, accountId, typed);
    if (problem !== error) { // a full or failing disk, or a row that is gone: not thrown on, so logged here
      hub.log.error('post not stored', errorFields(error));
      noteError(hub, error);
    }
    const isWhole = typed.has('content');
    const hasFiles = kept !== undefined;
    if (isWhole && !kept) await keep().catch(logging(hub));
    const form = fillForm(hub, req, path, fittingFields(firstValues(typed)), problem);
    return page(again({ ...form, problem, isWhole, hasFiles }), problem.status, problem.headers);
  }
}

async function previewOf(
  hub: Hub, req: MemberRequest, values: DraftFields,
): Promise<NonNullable<PostForm['preview']>> {
  const fields = { ...CHANGE_FIELDS, title: POST_FIELDS.title };
  const { title, ...text } = readGiven(fields, values, { check: inThePast(hub) });
  return { title, content: await shownContent(hub, req, values, await previewContent(hub, text, req)) };
}

/** Logs why a draft was not kept, unless it was refused; the form that is shown again still has the text. */
function logging(hub: Hub): (error: unknown) => void {
  return (error) => void (error instanceof HttpError || hub.log.warn('draft not kept', errorFields(error)));
}

function filesJson(hub: Hub, draft: Draft | undefined): object {
  const files = draft ? draftFiles(hub).ofDraft(draft.id) : [];
  return { revision: draft?.revision, files: files.map(({ id, filename, mediaType, bytes }) =>
    ({ id, filename, mediaType, size: byteSize(bytes) })) };
}

/** Receives a form sent without a session, if its address proves for which account it was made. */
export async function submitSignedOut(hub: Hub, req: HubRequest): Promise<Reply> {
  const accountId = provenAccount(hub, req);
  if (accountId === undefined) throw new HttpError(401, 'Sign in first.');
  takeTurn(hub, LATE_FORMS, String(accountId));
  const skipFile = async (): Promise<void> => {};
  return keepUntilSignIn(hub, req, accountId, await readMultipart(req, formLimits(hub), skipFile));
}

/** Keeps a late form's text as a pending draft; answers with the sign-in form, which leads back to the draft. */
function keepUntilSignIn(hub: Hub, req: HubRequest, accountId: number, typed: Map<string, string[]>): Reply {
  const form = formPath(req);
  const { fields, cut, tab } = fittingFields(firstValues(typed));
  const secret = hub.db.write('keep late form', () => accounts(hub).find(accountId)?.disabledAt === null
    ? drafts(hub).savePending(accountId, form, fields, tab) : undefined);
  if (secret === undefined) throw new HttpError(401, 'Sign in first.');
  const note = [
    'What you wrote is kept for a day. Sign in with the same account to get it back.',
    ...cutSentences(cut, 'kept'), 'Please choose the files again.',
  ];
  return signInAgain(hub, req.headers, 401, { next: `${form}?kept=${secret}`, note: note.join(' ') });
}
