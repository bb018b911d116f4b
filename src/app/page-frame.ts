import { html, type Html } from '../platform/http/html.ts';
import { layout } from '../platform/http/layout.ts';
import { statusTitle, type HttpError } from '../platform/http/problem.ts';
import { page, seeOther, type Page, type Reply } from '../platform/http/reply.ts';
import type { Viewer } from '../platform/viewer.ts';
import type { Assets } from './assets.ts';

const NAVIGATION = [
  { section: 'posts', href: '/', label: 'Posts' },
  { section: 'sources', href: '/sources', label: 'Sources' },
];

/** Puts the hub's head and navigation around a page. */
export function renderPage(assets: Assets, content: Page, viewer: Viewer | null): string {
  const { stylesheet, icon } = assets;
  return layout(content, { siteName: 'Content Hub', stylesheet, icon, navigation: NAVIGATION, corner: corner(viewer) });
}

function corner(viewer: Viewer | null): Html {
  if (!viewer) return html`<a href="/sign-in">Sign in</a>`;
  return html`<span class="who">${viewer.displayName}</span>
      <form method="post" action="/sign-out"><button class="link">Sign out</button></form>`;
}

/** What a person sees of a refused request; who is not signed in is asked to, and then led back. */
export function errorPage(problem: HttpError, { method, target }: { method: string; target: string }): Reply {
  if (problem.status === 401 && method === 'GET') return seeOther(`/sign-in?next=${encodeURIComponent(target)}`);
  const title = statusTitle(problem.status);
  const main = html`
<section class="narrow">
  <h1>${title}</h1>
  <p class="lead">${problem.message}</p>
  <p><a class="button" href="/">Newest posts</a></p>
</section>`;
  return page({ title, main }, problem.status, problem.headers);
}
