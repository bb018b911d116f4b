import { hashSecret, newSecret, signText } from '../../platform/secrets.ts';
import { DAY } from '../../platform/clock.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, invalid, notFound } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import { addFilesToDraft } from '../attachments/attach-files.ts';
import { attachments, type NewUpload } from '../attachments/attachment-store.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { hubSeed } from '../hub/hub-row-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { drafts, MAX_DRAFTS, type Draft, type DraftFields, type Tab } from './draft-store.ts';

/** Time for which an open form of a post can still be sent after its session has ended; longer than most sessions. */
const PROOF_LIFETIME = 60 * DAY;

/** The random part of the path of a new draft's form. */
const KEY = /^[\w-]{16}$/;

/** Returns a random name for a browser tab, or for the form of a new draft. */
export function newKey(): string {
  return newSecret().slice(0, 16);
}

/** Returns the path of the page on which the request's post is written or edited. */
export function formPath({ path, params }: HubRequest): string {
  if (path.startsWith('/posts/')) return `/posts/${pathId(params)}/edit`;
  const key = params['draft'];
  if (key === undefined) return '/write';
  if (!KEY.test(key)) throw notFound('draft');
  return `/write/${key}`;
}

/** Reads the tab's name and the revision that the tab knows from the fields of a form. */
export function tabOf({ tab = '', revision = '' }: Record<string, unknown>): Tab {
  const number = Number(revision);
  return {
    name: KEY.test(String(tab)) ? String(tab) : newKey(),
    revision: revision !== '' && Number.isSafeInteger(number) ? number : undefined,
  };
}

/**
 * Throws 409 if another tab has saved, published or discarded the draft since this tab loaded or saved the draft. A tab
 * that saved the draft last may save it again, because the answer to its last save may have been lost.
 */
export function requireNewest(stored: Draft | undefined, { name, revision }: Tab): void {
  const current = stored?.revision ?? 0;
  if (revision === undefined || revision === current || stored?.savedBy === name) return;
  const detail = stored === undefined
    ? 'This draft was published or discarded in another tab. Your text in this form is not saved.'
    : 'This draft was changed in another tab. Your text in this form is not saved; the other text is.';
  throw new HttpError(409, `${detail} Press the button again to keep the text of this form.`, {
    members: { revision: current },
  });
}

/** Saves a draft with new files. Throws 409 if another tab has changed the draft, 422 at the maximum of drafts. */
export function keepDraft(
  hub: Hub, { id }: MemberRequest['viewer'], form: string, { fields, tab, files = [] }:
  { fields: DraftFields; tab: Tab; files?: NewUpload[] },
): Draft {
  return hub.db.write('keep draft', () => {
    const stored = drafts(hub).find(id, form);
    requireNewest(stored, tab);
    if (!stored) requireRoomForDraft(hub, id);
    const draft = drafts(hub).save(id, form, fields, tab.name);
    addFilesToDraft(hub, draft.id, id, withOwnNames(hub, form, draft.id, files));
    return draft;
  });
}

/** Gives new files names that no other file of the draft or its post has: a text names its files. */
function withOwnNames(hub: Hub, form: string, draftId: number, files: NewUpload[]): NewUpload[] {
  const postId = /^\/posts\/(\d+)\/edit$/.exec(form)?.[1];
  const ofPost = postId === undefined ? [] : attachments(hub).ofPosts([Number(postId)]);
  const taken = new Set([...draftFiles(hub).ofDraft(draftId), ...ofPost].map(({ filename }) => filename));
  return files.map((file) => {
    const [, base = '', extension = ''] = /^(.*?)(\.[^.]*)?$/.exec(file.filename) ?? [];
    let { filename } = file;
    for (let n = 2; taken.has(filename); n++) filename = `${base}-${n}${extension}`;
    taken.add(filename);
    return { ...file, filename };
  });
}

function requireRoomForDraft(hub: Hub, accountId: number): void {
  if (drafts(hub).makeRoom(accountId)) return;
  throw metLimit(hub, 'drafts-max', 0, `You have ${MAX_DRAFTS} drafts. Publish or discard a draft first.`);
}

/** Takes the files from the draft of a form, for its post, in the caller's transaction. */
export function takeDraftFiles(hub: Hub, accountId: number, form: string): NewUpload[] {
  const draft = drafts(hub).find(accountId, form);
  return draft ? draftFiles(hub).take(draft.id) : [];
}

/** Removes a file from the draft of a form. */
export function removeDraftFile(hub: Hub, accountId: number, form: string, fileId: number): void {
  hub.db.write('remove a file of a draft', () => {
    const draft = drafts(hub).find(accountId, form);
    if (draft) draftFiles(hub).remove(draft.id, fileId);
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

/** Discards a draft, which can be restored for a day. Throws 404 unless the draft is an open draft of the account. */
export function discardDraft(hub: Hub, accountId: number, id: number): void {
  drafts(hub).discard(accountId, id);
}

/** Restores a discarded draft; returns the path of its form. Throws 409 if the same form has a newer draft. */
export function restoreDraft(hub: Hub, accountId: number, id: number): string {
  const discarded = drafts(hub).list(accountId).find((draft) => draft.id === id && draft.discardedAt !== null);
  if (!discarded) throw notFound('discarded draft');
  const form = hub.db.write('restore draft', () => drafts(hub).restore(accountId, id));
  if (form !== undefined) return form;
  throw invalid([{ pointer: '', detail: 'This post has a newer draft. Discard the newer draft first.' }]);
}

/** Returns a signed account id for the URL that a form posts to; the signature only allows to keep a pending draft. */
export function proofFor(
  hub: Hub, accountId: number, form: string, until: number = hub.clock() + PROOF_LIFETIME,
): string {
  return `${accountId}.${until}.${signText(`draft ${accountId} ${form} ${until}`, hubSeed(hub))}`;
}

/** Returns the account id that the URL of a form proves; undefined for a missing, wrong or old signature. */
export function provenAccount(hub: Hub, req: HubRequest): number | undefined {
  const proof = req.query.get('draft') ?? '';
  const [accountId = NaN, until = NaN] = proof.split('.', 2).map(Number);
  if (!Number.isSafeInteger(accountId) || !(until > hub.clock())) return undefined;
  return hashSecret(proof) === hashSecret(proofFor(hub, accountId, formPath(req), until)) ? accountId : undefined;
}
