import { byteSize, html, type Html } from '../../platform/http/html.ts';
import { faultOf, faulty } from '../../platform/http/form-faults.ts';
import { formProblem, type HttpError, type Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { FILE_EXTENSIONS } from '../attachments/recognise-file.ts';
import type { Source } from '../sources/source-store.ts';
import type { WholePost } from './post-store.ts';
import { INFECTED } from './post-views.ts';

/**
 * What was typed before and what is wrong with it. `proof` lets it be sent after the session has ended; `savedAt` (unix
 * ms): when what it shows was kept.
 */
export type PostForm = {
  values: Record<string, string>;
  filesHint: string;
  proof: string;
  savedAt?: number | undefined;
  times: Times;
  problem?: HttpError;
  preview?: { title: string; content: Html };
};

/** A form for a new post. */
export function writePostPage(source: Source, form: PostForm): Page {
  const action = `/sources/${source.id}/posts?draft=${form.proof}`;
  const main = html`
<header class="page-head"><h1>Write a post</h1><p class="meta">for ${source.title}</p></header>
${draftNote(form, `/sources/${source.id}/write`)}
${previewOf(form)}
<form method="post" action="${action}" enctype="multipart/form-data" class="stack">
  ${fields(form)}
  <div class="actions"><button>Publish</button> ${PREVIEW}
    <a class="quiet" href="/sources/${source.id}">Cancel</a></div>
</form>`;
  return { title: 'Write a post', main };
}

/** The same for a post that is there, with its files. */
export function changePostPage(post: WholePost, form: PostForm): Page {
  const files = post.attachments.filter(({ kind }) => kind === 'native');
  const main = html`
<header class="page-head"><h1>Edit post</h1></header>
${draftNote(form, `/posts/${post.id}/edit`)}
${previewOf(form)}
<form method="post" action="/posts/${post.id}/edit?draft=${form.proof}" enctype="multipart/form-data" class="stack">
  ${fields(form)}
  <div class="actions"><button>Save</button> ${PREVIEW} <a class="quiet" href="/posts/${post.id}">Cancel</a></div>
</form>
${files.length > 0 && html`
<section class="attachments"><h2>Files</h2><ul class="files">${files.map(removableFile)}</ul></section>`}`;
  return { title: 'Edit post', main };
}

const PREVIEW = html`<button class="plain" name="preview" value="1">Preview</button>`;

/** The post as it would be shown, above its form. */
function previewOf({ preview }: PostForm): Html | false {
  return preview !== undefined && html`
<section class="panel preview" aria-labelledby="preview" tabindex="-1" autofocus><h2 id="preview">Preview</h2>
<p class="hint">Nothing is published yet. What you typed is kept below; files are chosen when you publish.</p>
<article><h3 dir="auto">${preview.title}</h3>
<div class="prose" dir="auto">${preview.content}</div></article></section>`;
}

/** Above a form that shows what was kept. */
function draftNote({ savedAt, times, problem }: PostForm, path: string): Html | false {
  if (savedAt === undefined || problem) return false;
  return html`
<div class="done" role="status">
  <p>This is what you wrote ${showTime(times, savedAt)}. It has not been published. Please choose the files again.</p>
  <form method="post" action="${path}/discard"><button class="link">Discard it</button></form>
</div>`;
}

const EXTENSIONS = FILE_EXTENSIONS.map((extension) => `.${extension}`).join(',');

function fields({ values, filesHint, problem }: PostForm): Html {
  const isHtml = values['contentType'] === 'text/html';
  const whole = problem?.status === 413 || problem?.status === 415; // of all that is sent only files are so large
  return html`
  ${problem && formProblem(problem)}
  ${problem && html`<p class="hint">Nothing is lost: what you typed is still here. Please choose the files again.</p>`}
  <label>Title <input name="title" value="${values['title']}" required maxlength="500" ${faulty(problem, 'title')}>${
    faultOf(problem, 'title')}</label>
  <label>Text
    <textarea name="content" rows="12" class="text" maxlength="400000" ${faulty(problem, 'content')}>
${values['content']}</textarea>${faultOf(problem, 'content')}
    <span class="optional">A blank line begins a paragraph. Addresses become links by themselves.</span></label>
  <details ${(isHtml || values['url']) && html`open`}>
    <summary>Format and link</summary>
    <div class="stack">
      <label>Format
        <select name="contentType">
          <option value="text/plain">plain text</option>
          <option value="text/html" ${isHtml && html`selected`}>HTML</option>
        </select></label>
      <label>Link to a page <span class="optional">optional</span>
        <input name="url" value="${values['url']}" maxlength="2000" inputmode="url" autocapitalize="none"
          spellcheck="false" placeholder="https://" ${faulty(problem, 'url')}>${faultOf(problem, 'url')}</label>
    </div>
  </details>
  <label>Files <span class="optional">${filesHint}</span>
    <input type="file" name="attachments" multiple accept="${EXTENSIONS}" ${
      faulty(problem, 'attachments', { whole })}>${
    faultOf(problem, 'attachments', { whole })}</label>`;
}

function removableFile({ id, filename, bytes, scan }: Attachment): Html {
  return html`
  <li>
    <form method="post" action="/attachments/${id}/delete">
      ${filename} <small>${byteSize(bytes ?? 0)}</small> ${scan === 'infected' && INFECTED}
      <button class="link" aria-label="Remove ${filename}">Remove</button>
    </form>
  </li>`;
}
