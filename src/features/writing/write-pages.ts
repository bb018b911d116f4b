import { DAY, MINUTE } from '../../platform/clock.ts';
import { MAX_PAGE_BYTES, toHttpError } from '../../platform/http/answer-request.ts';
import { readForm } from '../../platform/http/body.ts';
import { contentText } from '../../platform/http/html.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import { readMultipart } from '../../platform/http/read-multipart.ts';
import { HttpError, invalid, page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import { errorFields } from '../../platform/log.ts';
import { STEP } from '../../platform/markup/in-steps.ts';
import { hashSecret, signText } from '../../platform/secrets.ts';
import { nextTurn } from '../../platform/turns.ts';
import { accounts } from '../accounts/account-store.ts';
import { signInAgain } from '../accounts/sign-in-pages.ts';
import { bytesLeft, firstValues, formLimits, receiveUpload, type ReceivedFile } from '../attachments/receive-upload.ts';
import { contentOnPage } from '../attachments/serve-file.ts';
import { noteError } from '../errors/error-store.ts';
import { hubSeed } from '../hub/hub-row-store.ts';
import { takeTurn, type Hub } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { saying } from '../hub/said.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { addSource } from '../manage-sources/add-source.ts';
import { inTurn } from '../posts/ingest-posts.ts';
import { changeablePost, writableSource } from '../posts/post-access.ts';
import type { WholePost } from '../posts/post-store.ts';
import { manySources, mayManage, sources, type Source } from '../sources/source-store.ts';
import { drafts, type Draft, type DraftFields } from './draft-store.ts';
import {
  POST_MAX, paragraphsToText, previewPost, removeFile, rewritePost, shortMarkup, writePost,
} from './write-post.ts';
import {
  changePostPage, cutSentences, firstPlacePage, fittingFields, withLineFeeds, writePage, type PostForm, type Typed,
} from './write-views.ts';

/** Time for which an open form of a post can still be sent after its session has ended; longer than most sessions. */
const PROOF_LIFETIME = 60 * DAY;
/** Maximum bytes of the form's text and the preview together; the rest of the page has 512 KiB. */
const TEXT_BYTES = MAX_PAGE_BYTES - 512 * 1024;
const LEAST_PREVIEW_BYTES = 16 * 1024;
/** Rate limit of an account's late forms; a late form is a form that was sent after the session ended. */
const LATE_FORMS: NamedLimit = { name: 'late-forms', burst: 10, everyMs: MINUTE };

/** Page: the form for a new post. Selects the source of `?source=`, or of the draft, or the account's only source. */
export function showWrite(hub: Hub, req: MemberRequest): Reply {
  const wanted = req.query.get('source') ?? '';
  if (wanted) writableSource(hub, pathId({ id: wanted }), req.viewer);
  const draft = openDraft(hub, req);
  const typed = fittingFields({ ...draft?.fields, sourceId: draft?.fields['sourceId'] || wanted });
  return page(writeForm(hub, req, formOf(hub, req, typed, draft)));
}

/** The form for a new post or, if the viewer has no native source, the form that creates a native source. */
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

export function submitPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  return submitForm(hub, req, (form) => writeForm(hub, req, form), (values, files) => {
    if (!values['sourceId']) throw invalid([{ pointer: '/sourceId', detail: 'Choose a place for the post.' }]);
    return writePost(hub, values, files, req);
  });
}

export async function submitOwnSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    const { source } = await addSource(hub, { ...values, kind: 'native' }, req);
    return seeOther(saying(`/write?source=${source.id}`, 'own-source-made'));
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status === 401) throw problem;
    const draft = openDraft(hub, req);
    const written = formOf(hub, req, fittingFields(draft?.fields ?? {}), draft);
    return page(firstPlacePage({ values, problem }, written), problem.status, problem.headers);
  }
}

export async function showChangePost(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = changeablePost(hub, pathId(req.params), req.viewer);
  const draft = openDraft(hub, req);
  const typed = fittingFields(draft?.fields ?? await valuesOf(hub, post, req.viewer));
  if (post.contentHtml.length > STEP) await nextTurn();
  return page(changePostPage(post, formOf(hub, req, typed, draft)));
}

export function submitPostChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = changeablePost(hub, pathId(req.params), req.viewer);
  return submitForm(hub, req, (form) => changePostPage(post, form), (values, files) =>
    rewritePost(hub, post.id, values, files, req));
}

export function submitDiscardDraft(hub: Hub, req: MemberRequest): Reply {
  const form = pageOf(req);
  drafts(hub).remove(req.viewer.id, form);
  return seeOther(saying(form, 'draft-discarded'));
}

export function submitDeleteAttachment(hub: Hub, req: MemberRequest): Reply {
  const { postId } = removeFile(hub, pathId(req.params), req);
  return seeOther(saying(`/posts/${postId}`, 'deleted'));
}

/**
 * Stores the form's post, or shows a preview. Keeps a refused post as a draft; without a session, as a pending draft
 * for the same account. Drops a text that arrived incompletely, because it would replace an older draft.
 */
async function submitForm(
  hub: Hub, req: MemberRequest, again: (form: PostForm) => Page,
  act: (values: DraftFields, files: ReceivedFile[]) => Promise<WholePost>,
): Promise<Reply> {
  const typed = new Map<string, string[]>();
  try {
    const done = await receiveUpload(hub, req, async ({ files }) => {
      const { preview, ...values } = withLineFeeds(firstValues(typed));
      if (preview !== undefined) return { preview: await previewPost(hub, values, req) };
      return { post: await act(values, files) };
    }, typed);
    if (done.preview) return await previewReply(hub, req, again, typedFields(typed), done.preview);
    drafts(hub).remove(req.viewer.id, pageOf(req));
    return seeOther(saying(`/posts/${done.post.id}`, pageOf(req).endsWith('/edit') ? 'post-saved' : 'post-published'));
  } catch (error) {
    const problem = toHttpError(error);
    if (problem.status === 500 || typed.size === 0) throw error;
    if (problem.status === 401) return keepUntilSignIn(hub, req, req.viewer.id, typedFields(typed));
    if (problem !== error) { // after an error of the hub, such as a full disk, the form is shown again
      hub.log.error('post not stored', errorFields(error));
      noteError(hub, error);
    }
    const isWhole = typed.has('content');
    const kept = isWhole ? keepDraft(hub, req, typedFields(typed)) : {};
    const form = { ...formOf(hub, req, typedFields(typed)), ...kept, problem, isWhole };
    return page(again(form), problem.status, problem.headers);
  }
}

function typedFields(fields: Map<string, string[]>): Typed {
  return fittingFields(withLineFeeds(firstValues(fields)));
}

/** Shows the form with a preview of its post, and keeps a draft of the form's text. */
async function previewReply(
  hub: Hub, req: MemberRequest, again: (form: PostForm) => Page, typed: Typed,
  { title, contentHtml }: { title: string; contentHtml: string },
): Promise<Reply> {
  const kept = keepDraft(hub, req, typed);
  const inForm = contentText(typed.fields['content']).bytes.length;
  const room = Math.max(TEXT_BYTES - inForm, LEAST_PREVIEW_BYTES);
  const content = await contentOnPage(hub, { contentHtml, url: null, attachments: [] }, room);
  return page(again({ ...formOf(hub, req, typed), ...kept, preview: { title, content } }));
}

/** Keeps the form's text as a draft; an error of the database is only logged, because the form still has the text. */
function keepDraft(hub: Hub, req: MemberRequest, { fields }: Typed): Pick<PostForm, 'savedAt'> {
  try {
    drafts(hub).save(req.viewer.id, pageOf(req), fields);
    return { savedAt: hub.clock() };
  } catch (error) {
    hub.log.warn('draft not kept', errorFields(error));
    return {};
  }
}

/** Receives a form sent without a session, if the form's address proves for which account the form was made. */
export async function submitSignedOut(hub: Hub, req: HubRequest): Promise<Reply> {
  const accountId = provenAccount(hub, req);
  if (accountId === undefined) throw new HttpError(401, 'Sign in first.');
  takeTurn(hub, LATE_FORMS, String(accountId));
  const skipFile = async (): Promise<void> => {};
  return keepUntilSignIn(hub, req, accountId, typedFields(await readMultipart(req, formLimits(hub), skipFile)));
}

/** Keeps a late form's text as a pending draft; answers with the sign-in form, which leads back to the draft. */
function keepUntilSignIn(hub: Hub, req: HubRequest, accountId: number, { fields, cut }: Typed): Reply {
  const form = pageOf(req);
  const secret = hub.db.write('keep late form', () => accounts(hub).find(accountId)?.disabledAt === null
    ? drafts(hub).savePending(accountId, form, fields) : undefined);
  if (secret === undefined) throw new HttpError(401, 'Sign in first.');
  const note = ['Your text is kept for a day. Sign in with the account that you wrote with to get your text back.',
    ...cutSentences(cut, 'kept'), 'Please choose the files again.'];
  return signInAgain(hub, req.headers, 401, { next: `${form}?kept=${secret}`, note: note.join(' ') });
}

/** Returns a form's draft, if any. A session first adopts the pending draft whose secret is in the URL (`?kept=`). */
function openDraft(hub: Hub, req: MemberRequest): Draft | undefined {
  const [form, kept] = [pageOf(req), req.viewer.via === 'session' && req.query.get('kept')];
  if (kept && mayRecord(hub)) hub.db.write('adopt draft', () => drafts(hub).adopt(req.viewer.id, form, kept));
  return drafts(hub).find(req.viewer.id, form);
}

/** Returns the path of the page on which the request's post is written or edited. */
function pageOf({ path, params }: HubRequest): string {
  return path.startsWith('/posts/') ? `/posts/${pathId(params)}/edit` : '/write';
}

/** Returns a signed account id for the URL that a form posts to; the signature only allows to keep a pending draft. */
function proofFor(hub: Hub, accountId: number, form: string, until: number): string {
  return `${accountId}.${until}.${signText(`draft ${accountId} ${form} ${until}`, hubSeed(hub))}`;
}

function provenAccount(hub: Hub, req: HubRequest): number | undefined {
  const proof = req.query.get('draft') ?? '';
  const [accountId = NaN, until = NaN] = proof.split('.', 2).map(Number);
  if (!Number.isSafeInteger(accountId) || !(until > hub.clock())) return undefined;
  return hashSecret(proof) === hashSecret(proofFor(hub, accountId, pageOf(req), until)) ? accountId : undefined;
}

/** Returns the data that the form for a post shows. `opened`: the draft with which the form is filled. */
function formOf(hub: Hub, req: MemberRequest, { fields, cut }: Typed, opened?: Draft): PostForm {
  const { id, via } = req.viewer;
  const proof = via === 'session' ? proofFor(hub, id, pageOf(req), hub.clock() + PROOF_LIFETIME) : '';
  return {
    viewerId: id, values: fields, cut, isWhole: true, proof,
    fileBytes: hub.config.uploadMaxBytes, bytesLeft: bytesLeft(hub, id),
    savedAt: opened?.savedAt, isOpened: opened !== undefined, times: timesOf(hub, req.viewer),
  };
}

/** Returns the form fields of a stored post: plain text if the post was written as plain text, otherwise HTML. */
async function valuesOf(hub: Hub, { title, contentHtml, url }: WholePost, viewer: Viewer): Promise<DraftFields> {
  const turn = { length: contentHtml.length, accountOf: () => viewer.id };
  const text = await inTurn(hub, turn, () => paragraphsToText(contentHtml));
  const content = text ?? (contentHtml.length <= POST_MAX.content ? contentHtml : shortMarkup(contentHtml));
  return { title, content, contentType: text === undefined ? 'text/html' : 'text/plain', url: url ?? '' };
}
