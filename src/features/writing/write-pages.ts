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
import { hashSecret, signText } from '../../platform/secrets.ts';
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
import { fittingFields, withLineFeeds, type Typed } from './typed-fields.ts';
import {
  MAX, paragraphsToText, previewPost, removeFile, rewritePost, shortMarkup, writePost,
} from './write-post.ts';
import { changePostPage, cutSentences, firstPlacePage, writePage, type PostForm } from './write-views.ts';

/** How long a form can be sent by somebody whose session has ended: longer than most sessions. */
const PROOF_LIFETIME = 60 * DAY;
/** Bytes of a text in its form and of its preview above. The rest is for the navigation, places and files. */
const TEXT_BYTES = MAX_PAGE_BYTES - 512 * 1024;
const LEAST_PREVIEW_BYTES = 16 * 1024;
/** Of an account, by forms that came after its session ended. */
const LATE_FORMS: NamedLimit = { name: 'late-forms', burst: 10, everyMs: MINUTE };

/** `?source=`: for which one; else for what the draft says, or the only one there is. */
export function showWrite(hub: Hub, req: MemberRequest): Reply {
  const wanted = req.query.get('source') ?? '';
  if (wanted) writableSource(hub, pathId({ id: wanted }), req.viewer);
  const draft = openDraft(hub, req);
  const typed = fittingFields({ ...draft?.fields, sourceId: draft?.fields['sourceId'] || wanted });
  return page(writeForm(hub, req, formOf(hub, req, typed, draft)));
}

/** The form for a new post or, for whoever has no source to write for, the one that makes it. */
function writeForm(hub: Hub, { viewer }: MemberRequest, form: PostForm): Page {
  const places = placesOf(hub, viewer, form.values['sourceId']);
  return places.length > 0 ? writePage(places, form) : firstPlacePage({}, form);
}

/** One's own sources of own posts, and the chosen one where an administrator writes for somebody else's. */
function placesOf(hub: Hub, viewer: Viewer, chosen = ''): Source[] {
  const own = manySources(hub).nativeOf(viewer.id);
  const other = own.some(({ id }) => String(id) === chosen) ? undefined : sources(hub).find(parseId(chosen) ?? 0);
  return other?.kind === 'native' && mayManage(other, viewer) ? [...own, other] : own;
}

export function submitPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  return submitted(hub, req, (form) => writeForm(hub, req, form), (values, files) => {
    if (!values['sourceId']) throw invalid([{ pointer: '/sourceId', detail: 'Choose where the post goes.' }]);
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
  return page(changePostPage(post, formOf(hub, req, typed, draft)));
}

export function submitPostChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const post = changeablePost(hub, pathId(req.params), req.viewer);
  return submitted(hub, req, (form) => changePostPage(post, form), (values, files) =>
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
 * Does what the form asks for and leads to the post. On a refusal what was typed is kept as a draft, and the form comes
 * again with it. If the session has ended, the draft waits until the same account signs in. A form whose text did not
 * arrive whole is no draft: it would take the place of an older one.
 */
async function submitted(
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
    if (done.preview) return shownBefore(hub, req, again, typedIn(typed), done.preview);
    drafts(hub).remove(req.viewer.id, pageOf(req));
    return seeOther(saying(`/posts/${done.post.id}`, pageOf(req).endsWith('/edit') ? 'post-saved' : 'post-published'));
  } catch (error) {
    const problem = toHttpError(error);
    if (problem.status === 500 || typed.size === 0) throw error;
    if (problem.status === 401) return keptUntilSignIn(hub, req, req.viewer.id, typedIn(typed));
    if (problem !== error) { // trouble of the hub's own, such as a full disk, that the form survives
      hub.log.error('post not stored', errorFields(error));
      noteError(hub, error);
    }
    const isWhole = typed.has('content');
    const kept = isWhole ? keepDraft(hub, req, typedIn(typed)) : {};
    const form = { ...formOf(hub, req, typedIn(typed)), ...kept, problem, isWhole };
    return page(again(form), problem.status, problem.headers);
  }
}

function typedIn(fields: Map<string, string[]>): Typed {
  return fittingFields(withLineFeeds(firstValues(fields)));
}

/** The form with what its post would look like; the words are kept, as if they had been refused. */
function shownBefore(
  hub: Hub, req: MemberRequest, again: (form: PostForm) => Page, typed: Typed,
  { title, contentHtml }: { title: string; contentHtml: string },
): Reply {
  const kept = keepDraft(hub, req, typed);
  const inForm = contentText(typed.fields['content']).bytes.length;
  const room = Math.max(TEXT_BYTES - inForm, LEAST_PREVIEW_BYTES);
  const content = contentOnPage(hub, { contentHtml, url: null, attachments: [] }, room);
  return page(again({ ...formOf(hub, req, typed), ...kept, preview: { title, content } }));
}

/** The form holds the words too: trouble with the disk is not made worse. */
function keepDraft(hub: Hub, req: MemberRequest, { fields }: Typed): Pick<PostForm, 'savedAt'> {
  try {
    drafts(hub).save(req.viewer.id, pageOf(req), fields);
    return { savedAt: hub.clock() };
  } catch (error) {
    hub.log.warn('draft not kept', errorFields(error));
    return {};
  }
}

/** What came after the session had ended. Its words are read only where the form proves whom it was shown to. */
export async function submitSignedOut(hub: Hub, req: HubRequest): Promise<Reply> {
  const accountId = provenAccount(hub, req);
  if (accountId === undefined) throw new HttpError(401, 'Sign in first.');
  takeTurn(hub, LATE_FORMS, String(accountId));
  const skipFile = async (): Promise<void> => {};
  return keptUntilSignIn(hub, req, accountId, typedIn(await readMultipart(req, formLimits(hub), skipFile)));
}

/** Keeps the words for nobody but that account, and answers with the form for signing in, which leads back to them. */
function keptUntilSignIn(hub: Hub, req: HubRequest, accountId: number, { fields, cut }: Typed): Reply {
  const form = pageOf(req);
  const secret = hub.db.write('keep late form', () => accounts(hub).find(accountId)?.disabledAt === null
    ? drafts(hub).savePending(accountId, form, fields) : undefined);
  if (secret === undefined) throw new HttpError(401, 'Sign in first.');
  const note = ['What you wrote is kept for a day. Sign in with the same account to find it in the form again.',
    ...cutSentences(cut, 'kept'), 'Please choose the files again.'];
  return signInAgain(hub, req.headers, 401, { next: `${form}?kept=${secret}`, note: note.join(' ') });
}

/** The draft of a form, if there is one; one that waited for its account to sign in is made one, by no API token. */
function openDraft(hub: Hub, req: MemberRequest): Draft | undefined {
  const [form, kept] = [pageOf(req), req.viewer.via === 'session' && req.query.get('kept')];
  if (kept && mayRecord(hub)) hub.db.write('adopt draft', () => drafts(hub).adopt(req.viewer.id, form, kept));
  return drafts(hub).find(req.viewer.id, form);
}

/** The path of the form's page, by that or by where it is sent. */
function pageOf({ path, params }: HubRequest): string {
  return path.startsWith('/posts/') ? `/posts/${pathId(params)}/edit` : '/write';
}

/** Proves for a while to whom the hub has shown a form: all that it allows is to keep words for that account. */
function proofFor(hub: Hub, accountId: number, form: string, until: number): string {
  return `${accountId}.${until}.${signText(`draft ${accountId} ${form} ${until}`, hubSeed(hub))}`;
}

function provenAccount(hub: Hub, req: HubRequest): number | undefined {
  const proof = req.query.get('draft') ?? '';
  const [accountId = NaN, until = NaN] = proof.split('.', 2).map(Number);
  if (!Number.isSafeInteger(accountId) || !(until > hub.clock())) return undefined;
  return hashSecret(proof) === hashSecret(proofFor(hub, accountId, pageOf(req), until)) ? accountId : undefined;
}

/** `opened`: the draft whose words these are. */
function formOf(hub: Hub, req: MemberRequest, { fields, cut }: Typed, opened?: Draft): PostForm {
  const { id, via } = req.viewer;
  const proof = via === 'session' ? proofFor(hub, id, pageOf(req), hub.clock() + PROOF_LIFETIME) : '';
  return {
    viewerId: id, values: fields, cut, isWhole: true, proof,
    fileBytes: hub.config.uploadMaxBytes, bytesLeft: bytesLeft(hub, id),
    savedAt: opened?.savedAt, isOpened: opened !== undefined, times: timesOf(hub, req.viewer),
  };
}

/** The post as its form shows it: as text where it was written as text, else as markup. */
async function valuesOf(hub: Hub, { title, contentHtml, url }: WholePost, viewer: Viewer): Promise<DraftFields> {
  const turn = { length: contentHtml.length, accountOf: () => viewer.id };
  const text = await inTurn(hub, turn, () => paragraphsToText(contentHtml));
  const content = text ?? (contentHtml.length <= MAX.content ? contentHtml : shortMarkup(contentHtml));
  return { title, content, contentType: text === undefined ? 'text/html' : 'text/plain', url: url ?? '' };
}
