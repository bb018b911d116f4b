import { hashSecret, newSecret, signText } from '../../platform/secrets.ts';
import { DAY, MINUTE } from '../../platform/clock.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import { invalid, notFound } from '../../platform/http/http-error.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { wallTime } from '../../platform/http/times.ts';
import { addFilesToDraft } from '../attachments/attach-files.ts';
import { attachments, type NewUpload } from '../attachments/attachment-store.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { hubSeed } from '../hub/hub-row-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { lateness } from './check-versions.ts';
import { drafts, MAX_DRAFTS, type Draft, type DraftFields, type Tab } from './draft-store.ts';

/** Time from when a form is shown in which it can be sent without its session; longer than an unused session lasts. */
const PROOF_LIFETIME = 60 * DAY;
const KEY = /^[\w-]{16}$/;

/** Returns a random name for a browser tab, or for the form of a new draft. */
export function newKey(): string {
  return newSecret().slice(0, 16);
}

/** Gives a draft of version 1.0.0, whose form had no path of its own, a path, so that a double click makes one post. */
export function giveKey(hub: Hub, draft: Draft): Draft {
  const form = `/write/${newKey()}`;
  drafts(hub).moveTo(draft.id, form);
  return { ...draft, form };
}

/** Returns the path of the page on which the request's post is written or edited. */
export function formPath({ path, params }: HubRequest): string {
  if (path.startsWith('/posts/')) return `/posts/${pathId(params)}/edit`;
  const key = params['draft'];
  if (key === undefined) return '/write';
  if (!KEY.test(key)) throw notFound('draft');
  return `/write/${key}`;
}

/** Returns the id of the post that the form with this path changes; undefined for a form for a new post. */
export function postIdOf(form: string): number | undefined {
  return parseId(/^\/posts\/(\d+)\/edit$/.exec(form)?.[1] ?? '');
}

/** Reads the tab's name and the revision that the tab knows from the fields of a form. */
export function tabOf({ tab, revision: known }: Record<string, unknown>): Tab {
  const revision = typeof known === 'string' ? known : '';
  const number = Number(revision);
  return {
    name: typeof tab === 'string' && KEY.test(tab) ? tab : newKey(),
    revision: revision !== '' && Number.isSafeInteger(number) ? number : undefined,
  };
}

/** Saves a draft with new files, unless it is just what goes out later. Throws the error of `lateness`. */
export function keepDraft(
  hub: Hub, viewer: Viewer, form: string, { fields, tab, files = [] }:
  { fields: DraftFields; tab: Tab; files?: NewUpload[] },
): Draft {
  const { id } = viewer;
  return hub.db.write('keep draft', () => {
    const late = lateness(hub, id, form, tab);
    if (late) throw late;
    const before = drafts(hub).find(id, form);
    if (!before) requireRoomForDraft(hub, id);
    else if (files.length === 0 && isAsScheduled(before, fields, viewer)) return before;
    const isSentAgain = before?.savedBy === tab.name && before.revision !== tab.revision;
    const draft = drafts(hub).save(id, form, fields, tab.name);
    addFilesToDraft(hub, draft.id, id, newFiles(hub, draft, isSentAgain, files));
    return draft;
  });
}

/** Whether a form holds just what goes out later, at that minute: then there is nothing to keep beside it. */
function isAsScheduled(draft: Draft, fields: DraftFields, { preferences }: Viewer): boolean {
  const at = wallTime(fields['publishAt'] ?? '', preferences.timeZone ?? undefined) ?? 0;
  return draft.publishAt !== null && Math.floor(at / MINUTE) === Math.floor(draft.publishAt / MINUTE)
    && isSameText(draft.fields, fields);
}

export function isSameText(one: DraftFields, other: DraftFields): boolean {
  const textOf = (of: DraftFields): string => JSON.stringify(Object.entries({ ...of, publishAt: '' }).sort());
  return textOf(one) === textOf(other);
}

/** Renames new files whose names are taken, since a post's text names its files. Leaves out files sent twice. */
function newFiles(hub: Hub, { id: draftId, form }: Draft, isSentAgain: boolean, files: NewUpload[]): NewUpload[] {
  const postId = postIdOf(form);
  const ofPost = postId === undefined ? [] : attachments(hub).ofPosts([postId]);
  const ofDraft = draftFiles(hub).ofDraft(draftId);
  const taken = new Set([...ofDraft, ...ofPost].map(({ filename }) => filename));
  const isThere = (file: NewUpload): boolean =>
    isSentAgain && ofDraft.some(({ filename, sha256 }) => filename === file.filename && sha256 === file.sha256);
  return files.filter((file) => !isThere(file)).map((file) => {
    const [, base = '', extension = ''] = /^(.*?)(\.[^.]*)?$/.exec(file.filename) ?? [];
    let { filename } = file;
    for (let n = 2; taken.has(filename); n++) filename = `${base}-${n}${extension}`;
    taken.add(filename);
    return { ...file, filename };
  });
}

/** Throws 422 unless the account has at most so many drafts once discarded ones have given way. */
export function requireRoomForDraft(hub: Hub, accountId: number, most = MAX_DRAFTS - 1): void {
  if (drafts(hub).makeRoom(accountId, most)) return;
  throw metLimit(hub, 'drafts-max', 0, `You may have ${MAX_DRAFTS} drafts. Publish or discard one first.`);
}

/** Takes the files from the draft of a form, if any, for its post, in the caller's transaction. */
export function takeDraftFiles(hub: Hub, accountId: number, form: string | undefined): NewUpload[] {
  const draft = form === undefined ? undefined : drafts(hub).find(accountId, form);
  return draft ? draftFiles(hub).take(draft.id) : [];
}

/** Does nothing if the form's draft has no such file. */
export function removeDraftFile(hub: Hub, accountId: number, form: string, fileId: number): void {
  hub.db.write('remove a file of a draft', () => {
    const draft = drafts(hub).find(accountId, form);
    if (!draft || draftFiles(hub).find(fileId)?.draftId !== draft.id) return;
    drafts(hub).setAside(draft);
    draftFiles(hub).remove(draft.id, fileId);
  });
}

/** Returns a form's draft, if any. A session first adopts the pending draft whose secret is in the URL (`?kept=`). */
export function openDraft(hub: Hub, { viewer, query }: MemberRequest, form: string): Draft | undefined {
  const kept = viewer.via === 'session' && query.get('kept');
  if (kept && mayRecord(hub)) hub.db.write('adopt draft', () => {
    requireRoomForDraft(hub, viewer.id);
    drafts(hub).adopt(viewer.id, form, kept);
  });
  return drafts(hub).find(viewer.id, form);
}

/** Restores a discarded draft; returns the path of its form. Throws 404 without it, 422 if its form has a newer one. */
export function restoreDraft(hub: Hub, accountId: number, id: number): string {
  const discarded = drafts(hub).list(accountId).find((draft) => draft.id === id && draft.discardedAt !== null);
  if (!discarded) throw notFound('discarded draft');
  const form = hub.db.write('restore draft', () => drafts(hub).restore(accountId, id));
  if (form !== undefined) return form;
  throw invalid([{ pointer: '', detail: 'This post has a newer draft. Discard that one first.' }]);
}

/**
 * Returns a signed account id for the URL to which the form of a post is sent. If the session has ended, the signature
 * only allows the hub to keep the sent post as a draft, which pages show after the account has signed in again.
 */
export function proofFor(
  hub: Hub, accountId: number, form: string, until: number = hub.clock() + PROOF_LIFETIME,
): string {
  return `${accountId}.${until}.${signText(`draft ${accountId} ${form} ${until}`, hubSeed(hub))}`;
}

/** Returns the account id that is signed in a form's URL; undefined if the signature is missing, wrong or old. */
export function provenAccount(hub: Hub, req: HubRequest): number | undefined {
  const proof = req.query.get('draft') ?? '';
  const [accountId = NaN, until = NaN] = proof.split('.', 2).map(Number);
  if (!Number.isSafeInteger(accountId) || !(until > hub.clock())) return undefined;
  return hashSecret(proof) === hashSecret(proofFor(hub, accountId, formPath(req), until)) ? accountId : undefined;
}
