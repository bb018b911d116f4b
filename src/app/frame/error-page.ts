import { signInAgain } from '../../features/accounts/sign-in-pages.ts';
import type { Hub } from '../../features/hub/hub.ts';
import type { RefusedPage } from '../../platform/http/answer-request.ts';
import { html } from '../../platform/http/html.ts';
import { type HttpError, page, type Reply, seeOther, statusTitle } from '../../platform/http/reply.ts';

/** What a person sees of a refused request; who is not signed in is asked to, and then led back. */
export function errorPage(hub: Hub, problem: HttpError, { method, target, headers }: RefusedPage): Reply {
  if (problem.status === 401 && method === 'GET') return seeOther(`/sign-in?next=${encodeURIComponent(target)}`);
  if (problem.status === 401) return signInAgain(hub, headers, problem.status);
  const title = statusTitle(problem.status);
  const main = html`
<section class="narrow">
  <h1>${title}</h1>
  <p class="lead">${problem.message}</p>
  <p><a class="button" href="/">Newest posts</a></p>
</section>`;
  return page({ title, main }, problem.status, problem.headers);
}
