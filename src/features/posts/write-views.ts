import { formProblem, type HttpError } from '../../platform/http/problem.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { byteSize } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { FILE_EXTENSIONS } from '../attachments/recognise-file.ts';
import type { Source } from '../sources/source-store.ts';
import type { PostWithAttachments } from './post-store.ts';

/** What was typed before and what is wrong with it. */
export type PostForm = { values: Record<string, string>; filesHint: string; problem?: HttpError };

/** A form for a new post. */
export function writePostPage(source: Source, form: PostForm): Page {
  const main = html`
<header class="page-head"><h1>Write a post</h1><p class="meta">for ${source.title}</p></header>
<form method="post" action="/sources/${source.id}/posts" enctype="multipart/form-data" class="stack">
  ${fields(form)}
  <div class="actions"><button>Publish</button> <a class="quiet" href="/sources/${source.id}">Cancel</a></div>
</form>`;
  return { title: 'Write a post', main };
}

/** The same for a post that is there, with its files. */
export function changePostPage(post: PostWithAttachments, form: PostForm): Page {
  const files = post.attachments.filter(({ kind }) => kind === 'native');
  const main = html`
<header class="page-head"><h1>Change the post</h1></header>
<form method="post" action="/posts/${post.id}/edit" enctype="multipart/form-data" class="stack">
  ${fields(form)}
  <div class="actions"><button>Save</button> <a class="quiet" href="/posts/${post.id}">Cancel</a></div>
</form>
${files.length > 0 && html`
<section class="attachments"><h2>Its files</h2><ul class="files">${files.map(removableFile)}</ul></section>`}`;
  return { title: 'Change the post', main };
}

const EXTENSIONS = FILE_EXTENSIONS.map((extension) => `.${extension}`).join(',');

function fields({ values, filesHint, problem }: PostForm): Html {
  const isHtml = values['contentType'] === 'text/html';
  return html`
  ${problem && formProblem(problem)}
  ${problem && html`<p class="hint">What you typed is still here. Choose the files again: a browser forgets them.</p>`}
  <label>Title <input name="title" value="${values['title']}" required maxlength="500"></label>
  <label>Text
    <textarea name="content" rows="12" class="text" maxlength="400000">
${values['content']}</textarea></label>
  <details ${(isHtml || values['url']) && html`open`}>
    <summary>HTML, and a link</summary>
    <div class="stack">
      <label>The text is
        <select name="contentType">
          <option value="text/plain">plain text</option>
          <option value="text/html" ${isHtml && html`selected`}>HTML</option>
        </select></label>
      <label>A page this is about <span class="optional">optional</span>
        <input name="url" value="${values['url']}" maxlength="2000" inputmode="url" autocapitalize="none"
          spellcheck="false" placeholder="https://"></label>
    </div>
  </details>
  <label>Files <span class="optional">${filesHint}</span>
    <input type="file" name="attachments" multiple accept="${EXTENSIONS}"></label>`;
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

/** Of a file that nobody gets any more. */
export const INFECTED = html`<span class="tag failing">found to be infected, kept away</span>`;
