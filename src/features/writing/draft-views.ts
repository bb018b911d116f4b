import { html, type Html } from '../../platform/http/html.ts';
import { details, postButton } from '../../platform/http/page-parts.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { plural } from '../../platform/in-words.ts';
import { formOfScheduled, type Draft, type ListedDraft } from './draft-store.ts';
import { postIdOf } from './keep-draft.ts';

type DraftForm = {
  path: string; draft: Draft | undefined; scheduled: Draft | undefined; isOpened: boolean; isChanged: boolean;
  times: Times; drafts?: ListedDraft[]; hasDiscarded?: boolean;
};

/** The state of the draft in the page's bar, with the signs that the script shows while the author types. */
export function draftSigns({ draft, times }: DraftForm): Html {
  return html`
<span class="voice soft only-wide" role="status"><span data-sign="saved" ${
  !isUnscheduled(draft) && html`hidden`}>Draft saved <span data-saved-at>${
  draft && showTime(times, draft.savedAt)}</span></span><span data-sign="failed" hidden>Draft not saved</span></span>`;
}

/** A link to the newer text of a post that saving the form would replace. */
export function otherText(path: string): Html {
  return html`<a href="${path}" target="_blank" rel="noopener">Open the newer text in a new tab</a>`;
}

/** The notes about a draft that cannot be saved, which only the script shows and fills. */
export function changedElsewhere({ path }: DraftForm): Html {
  return html`
<div class="problem" data-sign="changed" role="alert" hidden>
  <p></p>
  <p>${otherText(path)} <button class="link" type="button" data-keep>Save this one in its place</button></p></div>
<div class="problem" data-sign="ended" role="alert" hidden>
  <p>Your session has ended. Press Save draft to sign in again: your text is kept.</p></div>`;
}

/** Whether a form's draft has a text that does not go out. */
function isUnscheduled(draft: Draft | undefined): draft is Draft {
  return draft !== undefined && draft.publishAt === null;
}

/** Says what goes out, and whether the form shows a newer draft; the script shows the other sign once it has saved. */
function scheduleNote({ draft, scheduled, times }: DraftForm): Html | false {
  const isNewer = isUnscheduled(draft);
  return scheduled?.publishAt != null && html`
<div class="done" role="status">
  <p>Scheduled: goes out on ${showTime(times, scheduled.publishAt, 'exact')}, as it was when you scheduled it.</p>
  <p data-sign="scheduled" ${isNewer && html`hidden`}>What you change here becomes a draft beside it.</p>
  <p data-sign="saved" ${!isNewer && html`hidden`}>This is a newer draft, saved <span data-saved-at>${
    draft && showTime(times, draft.savedAt)}</span>. Press Schedule to send it instead.</p>
  <p><button class="link" form="post" name="unschedule" value="1" formnovalidate>Unschedule</button></p>
  ${draft && postButton(`/drafts/${draft.id}/discard`,
    isNewer ? 'Discard the newer draft' : 'Discard the post', 'link')}
</div>`;
}

/** The note on a form that is filled with a stored draft. */
export function draftNote(form: DraftForm): Html | false {
  const { path, draft, isOpened, isChanged, times } = form;
  if (form.scheduled) return scheduleNote(form);
  return draft !== undefined && isOpened && html`
<div class="done" role="status">
  <p>This is your draft from ${showTime(times, draft.savedAt)}. It is not published.${draft.withdrawn && html`
    When you publish it, the post has its old address again, and stays read for those who have read
    it.`}${isChanged && html` The post was changed after you began. ${
      otherText(`/posts/${postIdOf(path)}`)}.`}</p>
  ${postButton(`/drafts/${draft.id}/discard`, 'Discard the draft', 'link')}
</div>`;
}

/** Says whether a draft is saved. “Save draft” is for browsers without scripts, and for when the session has ended. */
export function draftState({ draft, times }: DraftForm): Html {
  return html`
<section><h2>Draft</h2><p class="hint" data-sign="none" ${draft && html`hidden`}>Drafts save themselves as you type.</p>
<p class="hint" data-sign="saved" ${!isUnscheduled(draft) && html`hidden`}>Saved, with its files, <span
  data-saved-at>${draft && showTime(times, draft.savedAt)}</span>. Nobody else sees it. It is kept for 90 days.</p>
<button name="save" value="1" formnovalidate>Save draft</button></section>`;
}

/** A list of more than MAX_OPEN drafts is folded, because the writing form stands below the list. */
const MAX_OPEN = 5;

/** The list of the account's drafts, with discarded drafts. */
export function draftList({ drafts = [], hasDiscarded, times }: DraftForm): Html | false {
  const open = drafts.filter(({ discardedAt }) => discardedAt === null);
  const heading = open.length > 0 ? plural(open.length, 'draft') : 'Discarded drafts';
  const isShown = hasDiscarded || (open.length > 0 && open.length <= MAX_OPEN);
  const isNewer = (draft: ListedDraft): boolean =>
    drafts.some((other) => other !== draft && formOfScheduled(other) === draft.form);
  return drafts.length > 0 && details(heading, html`
<ul>${drafts.map((draft) => draftItem(draft, times, isNewer(draft)))}</ul>`, { isOpen: isShown, look: 'drafts files' });
}

function draftItem(draft: ListedDraft, times: Times, isNewer: boolean): Html {
  const { id, form, title, beginning, savedAt, publishAt, discardedAt, isWithdrawn } = draft;
  const name = title.trim() || beginning.trim().slice(0, 80) || 'Untitled';
  if (discardedAt !== null) return html`
<li><span class="name" dir="auto">${name}</span><span class="size">discarded ${showTime(times, discardedAt)}</span>
${postButton(`/drafts/${id}/restore`, 'Restore', 'plain', `Restore ${name}`)}</li>`;
  return html`
<li><a class="name" dir="auto" href="${formOfScheduled(draft)}">${name}</a><span class="size">${
  postIdOf(form) !== undefined && 'change of a post, '}${isWithdrawn === 1 && 'taken back, '}${
  publishAt ? html`goes out on ${showTime(times, publishAt, 'exact')}`
    : html`${isNewer && 'newer than what goes out, '}saved ${showTime(times, savedAt)}`}</span>
${postButton(`/drafts/${id}/discard`, 'Discard', 'plain', `Discard ${name}`)}</li>`;
}
