import { formProblem, type HttpError } from '../../platform/http/problem.ts';
import { html } from '../../platform/http/html.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { Source } from './source-store.ts';

type Form = { values?: Record<string, string>; problem?: HttpError };

/** Asks to whom a source is to be given. */
export function transferPage(source: Source, { values = {}, problem }: Form): Page {
  const main = html`
<section class="narrow">
  <h1>Give this source to somebody</h1>
  <p class="lead">“${source.title}” goes with all its posts and files to another account of this hub. Its new owner
    alone decides about it then${source.visibility === 'private' && ', and alone reads its posts'}.</p>
  ${source.kind === 'webhook' && html`
  <p>Its secret stays as it is, and you know it. The new owner is told to make a new one; yours is valid for 24 hours
    after that, or until another is made.</p>`}
  ${problem && formProblem(problem)}
  <form method="post" class="stack">
    <label>Name with which the new owner signs in
      <input name="username" value="${values['username']}" required maxlength="32" autocomplete="off"
        autocapitalize="none" spellcheck="false"></label>
    <div class="actions"><button>Transfer the source</button>
      <a class="quiet" href="/sources/${source.id}">Keep it</a></div>
  </form>
</section>`;
  return { title: 'Give this source to somebody', main, section: 'sources' };
}
