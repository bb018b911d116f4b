import { parseIsoTime } from '../../platform/clock.ts';
import { contentText, html, type Html } from '../../platform/http/html.ts';
import { faultOf, faulty } from '../../platform/http/form-faults.ts';
import { icon } from '../../platform/http/icons.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import {
  details, formProblem, hiddenInput, inputField, optionOf, postForm, radios, selectField, titledPage, type FormState,
} from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { shownWallTime, type Times } from '../../platform/http/times.ts';
import { byteSize } from '../../platform/in-words.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import type { DraftFile } from '../attachments/draft-file-store.ts';
import { MAX_UPLOADS } from '../attachments/receive-upload.ts';
import { FILE_EXTENSIONS } from '../attachments/recognise-file.ts';
import { visibilityChoice } from '../manage-sources/add-views.ts';
import type { WholePost } from '../posts/post-store.ts';
import { INFECTED } from '../posts/post-views.ts';
import type { Source } from '../sources/source-store.ts';
import type { Draft, ListedDraft } from './draft-store.ts';
import { changedElsewhere, draftList, draftNote, draftSigns, draftState, otherText } from './draft-views.ts';
import { cutSentences, type CutField } from './form-fields.ts';
import { postIdOf } from './keep-draft.ts';
import { POST_MAX } from './post-fields.ts';

/**
 * `cut`: the fields that were too long. Of a refused form, `isWhole`: whether all of the post's text came, `hasFiles`:
 * whether the draft has the sent files. `proof`: the signed account id with which the form can be sent without a
 * session. `revision`, `version`: the states of the form and of the stored post that the tab knows. `isChanged`:
 * whether the stored post has changed since the form was opened. `isOpened`: whether the form shows an opened draft,
 * and not a sent form. `hasDiscarded`: the viewer has just discarded a draft, which the list of drafts shows.
 */
export type PostForm = {
  path: string;
  viewerId: number;
  values: Record<string, string>;
  cut: CutField[];
  isWhole: boolean;
  hasFiles: boolean;
  fileBytes: number;
  bytesLeft: number;
  proof: string;
  tab: string;
  revision: number;
  version: string | undefined;
  isChanged: boolean;
  draft: Draft | undefined;
  scheduled: Draft | undefined;
  files: DraftFile[];
  drafts?: ListedDraft[];
  hasDiscarded?: boolean;
  isOpened: boolean;
  times: Times;
  problem?: HttpError;
  preview?: { title: string; content: Html };
};

/** The form for a new post in one of the given sources. */
export function writePage(places: Source[], form: PostForm): Page {
  const button = form.values['publishAt'] ? 'Schedule' : 'Publish';
  return { title: 'Write', section: 'write', script: 'write', bar: barOf('Write', button, form), main: html`
${aboveForm(form)}
${formStart(form)}
${placeChoice(places, form)}
<div class="main">${fields(form)}${fileFields(form, [])}</div>
<div class="side">${draftState(form)}</div>
</form>` };
}

/** The form for a stored post, with its files. */
export function changePostPage(post: WholePost, form: PostForm): Page {
  const files = post.attachments.filter(({ kind }) => kind === 'native');
  return { title: 'Edit post', script: 'write', bar: barOf('Edit', 'Save', form), main: html`
${aboveForm(form)}
${formStart(form)}
<section class="places"><h2>Place</h2>
<p><a class="quiet" href="/sources/${post.sourceId}" dir="auto">${post.sourceTitle}</a></p>
<p class="hint">${readersOf(post.isPublic === 1, post.ownerId === form.viewerId)}</p></section>
<div class="main">${fields(form)}${fileFields(form, files)}</div>
<div class="side">${draftState(form)}
<p><a class="quiet" href="/posts/${post.id}">Cancel</a></p>${post.ownerId === form.viewerId && html`
<p><button class="link" form="withdraw">Take it back into a draft</button></p>`}</div>
</form>
<form method="post" id="withdraw" action="/posts/${post.id}/withdraw"></form>` };
}

function formStart({ path, proof, tab, revision, version }: PostForm): Html {
  return html`<form method="post" action="${path}?draft=${proof}" enctype="multipart/form-data" id="post" class="write"
  data-draft="${path}/draft">${hiddenInput('tab', tab)}${hiddenInput('revision', revision)}${
  version && hiddenInput('version', version)}`;
}

/** The form that makes a native source for a member who has none. `written`: the form of the post, perhaps empty. */
export function firstPlacePage(sent: FormState, written: PostForm): Page {
  const main = html`${cutNote(written)}
${postForm('/write/source', html`${hiddenInput('form', written.draft ? written.path : '/write')}
  <p class="lead">Where should your posts live? Name your notebook; you can rename it later.${
      written.draft && ' Your text is kept: you will see it again on the next page.'}</p>
  ${inputField(sent, 'title', 'Name', html`required maxlength="200" placeholder="Notes"`,
      { whole: true, isFirst: true })}
  ${visibilityChoice(sent.values?.['visibility'], 'own', sent.problem)}`, 'Continue', 'stack narrow')}`;
  return titledPage('Write', main, { section: 'write' });
}

/** Preview is the form's first button, because the Enter key presses the first one and must not publish a post. */
function barOf(name: string, button: string, form: PostForm): Html {
  return html`<h1>${name}</h1><span class="space"></span>${draftSigns(form)}
<button class="plain" form="post" name="preview" value="1">Preview</button>
<button class="primary" form="post" data-now="Publish" data-later="Schedule">${button}</button>`;
}

function aboveForm(form: PostForm): Html {
  return html`${draftList(form)}${draftNote(form)}${problemNote(form)}${cutNote(form)}${changedElsewhere(form)}`;
}

const FILES_AGAIN = 'Please choose the files again.';
const PRESS_BACK = 'Press Back in your browser: the form there still has it.';

function cutNote({ cut, problem, isOpened }: PostForm): Html | false {
  const rest = isOpened ? html`The whole draft is in the <a href="/api/account/export">export of your data</a> until
    you send, preview or discard this form.`
    : problem ? PRESS_BACK : 'Saving now cuts the rest of the text off.';
  return cut.length > 0 && html`
<div class="problem" role="alert">${cutSentences(cut, isOpened || !problem ? 'shown' : 'kept').map((sentence) =>
    html`<p>${sentence}</p>`)}<p>${rest}</p></div>`;
}

function problemNote({ path, problem, cut, isWhole, hasFiles }: PostForm): Html | false {
  const again = hasFiles ? '' : FILES_AGAIN;
  const kept = cut.length === 0 ? 'Your text is still here. ' : '';
  const note = isWhole ? kept + again
    : `The form was too long, so your text did not arrive. ${PRESS_BACK}`;
  const { members = {} } = problem ?? {};
  const other = 'version' in members ? `/posts/${postIdOf(path)}` : 'revision' in members && path;
  return problem !== undefined && html`${formProblem(problem)}${other && html`
<p>${otherText(other)}, or press the button again to keep yours.</p>`}
<p class="hint">${note}</p>`;
}

function previewOf({ preview }: PostForm): Html {
  return html`
<section class="panel preview" aria-labelledby="preview" tabindex="-1" ${
  preview ? html`autofocus` : html`hidden`}><h2 id="preview">Preview</h2>
<article><h3 dir="auto">${preview?.title}</h3>
<div class="prose" dir="auto">${preview?.content}</div></article></section>`;
}

function fields(form: PostForm): Html {
  const { values, problem, preview } = form;
  const { zone } = form.times;
  const format = values['contentType'] || 'text/markdown';
  const isNew = form.path.startsWith('/write');
  const isRefused = ['contentType', 'url'].some((name) => faulty(problem, name));
  const isOpen = format !== 'text/markdown' || Boolean(values['url'] || values['publishAt']) || isRefused;
  const formats = [
    optionOf('text/markdown', 'Markdown', format), optionOf('text/plain', 'plain text', format),
    optionOf('text/html', 'HTML', format),
  ];
  return html`
${inputField(form, 'title', 'Title',
    html`class="title-field" required maxlength="${POST_MAX.title}" dir="auto"`,
    { isFirst: isNew && !values['title'] })}
<div class="texts"><label>Text
  <textarea name="content" rows="14" class="text" maxlength="${POST_MAX.content}" dir="auto" ${
    faulty(problem, 'content', { isFirst: !preview && (!isNew || Boolean(values['title'])) })}>
${contentText(values['content'])}</textarea>${faultOf(problem, 'content')}
  <span class="optional">In Markdown: *emphasis*, **bold**, [link](address), - list, # heading, &gt; quote, \`code\`. A
    blank line begins a paragraph. Bare addresses become links.</span></label>${previewOf(form)}</div>
${details(`Format, link${isNew ? ', publish later' : ''}`, html`
  <div class="stack">
    ${selectField(problem, 'contentType', 'Format', formats)}
    ${inputField(form, 'url', 'Link to a page', html`maxlength="${POST_MAX.url}" inputmode="url" autocapitalize="none"
        spellcheck="false" placeholder="https://"`, { hint: 'optional' })}
    ${isNew && inputField(form, 'publishAt', 'Publish later', html`type="datetime-local"`,
        { value: localTime(form), hint: html`optional; your time${zone && ` (${zone})`}` })}
  </div>`, { isOpen })}`;
}

/** The time in the field for publishing later; a time in UTC, as the API stores, becomes the viewer's local time. */
function localTime({ values, times }: PostForm): string {
  const typed = values['publishAt'] ?? '';
  const at = typed.endsWith('Z') ? parseIsoTime(typed) : null;
  return at === null ? typed : shownWallTime(times, at);
}

const EXTENSIONS = FILE_EXTENSIONS.map((extension) => `.${extension}`).join(',');

function fileFields({ problem, fileBytes, bytesLeft, files: ofDraft }: PostForm, files: Attachment[]): Html {
  const whole = problem?.status === 413 || problem?.status === 415; // mostly, files are too large or of a wrong type
  return html`
<section class="files" aria-labelledby="files"><h2 id="files">Files</h2>
<ul>${[...files, ...ofDraft].map(fileItem)}</ul>
<template>${fileItem()}</template>
<label class="drop-zone">Add files <span class="optional">up to ${MAX_UPLOADS} at once: images, PDF, plain text or
  Markdown, ${byteSize(fileBytes)} each; you have ${byteSize(Math.max(0, bytesLeft))} left. You can also drop or paste
  them.</span>
  <input type="file" name="attachments" multiple accept="${EXTENSIONS}" ${
    faulty(problem, 'attachments', { whole })}>${faultOf(problem, 'attachments', { whole })}</label>
</section>`;
}

/** Without a file: the template that the page's script fills for one that it uploads. */
function fileItem(file?: DraftFile | Attachment): Html {
  const [name, remove] = [file?.filename ?? '', file && 'postId' in file && `/attachments/${file.id}/delete`];
  return html`
<li data-name="${name}">${icon('file')}<span class="name">${name}</span><span
  class="size">${file && byteSize(file.bytes ?? 0)}</span>${file?.scan === 'infected' && INFECTED}${
  !file && html`<progress max="1" value="0">0 %</progress>`}<label class="alt" hidden>What the picture shows <input
  data-alt maxlength="200" dir="auto" aria-label="What the picture shows: ${name}"
  placeholder="For people who cannot see the picture"></label><button class="plain" name="remove" value="${file?.id}" ${
  remove && html`formaction="${remove}"`} formnovalidate aria-label="Remove ${name}">Remove</button><p class="fault"
  role="alert" hidden></p></li>`;
}

function placeChoice(places: Source[], { viewerId, values: { sourceId }, problem }: PostForm): Html {
  const options = places.map(({ id, ownerId, title, visibility }) => [String(id), html`<span
  dir="auto">${title}</span> <small>${readersOf(visibility === 'public', ownerId === viewerId)}</small>`] as const);
  const chosen = options.length === 1 ? options[0]?.[0] : sourceId;
  return html`
<fieldset class="places"><legend>Place</legend>${radios(problem, 'sourceId', options, chosen, 'choice')}
<a class="quiet" href="/sources/add">Another place…</a></fieldset>`;
}

function readersOf(isPublic: boolean, isOwn: boolean): string {
  if (isPublic) return 'Everyone can read it: on the public page, in feeds and in search.';
  return isOwn ? 'Only you can read it.' : 'Only its owner can read it.';
}
