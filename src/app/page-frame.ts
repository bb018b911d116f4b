import type { Hub } from '../features/hub/hub.ts';
import { notifications } from '../features/notifications/notification-store.ts';
import { html, type Html } from '../platform/http/html.ts';
import { layout } from '../platform/http/layout.ts';
import { statusTitle, type HttpError } from '../platform/http/problem.ts';
import { page, seeOther, type Page, type Reply } from '../platform/http/reply.ts';
import type { Viewer } from '../platform/http/router.ts';
import { ADMIN_LISTS } from './admin-lists.ts';
import type { Assets } from './assets.ts';

const NAVIGATION = [
  { section: 'posts', href: '/', label: 'Posts' },
  { section: 'sources', href: '/sources', label: 'Sources' },
];

const FOR_ADMINS = [{ section: 'admin', href: '/admin', label: 'Admin' }];

/** The pages for administrators, each with the section that it names. */
const ADMIN_PAGES = [
  { section: 'admin/', href: '/admin', label: 'Overview' },
  ...ADMIN_LISTS.map(({ name, title }) => ({ section: `admin/${name}`, href: `/admin/${name}`, label: title })),
];

/** Counted no further: a reader with more knows enough. */
const MOST_UNREAD = 100;

/** Puts the hub's head and navigation around a page. */
export function renderPage(hub: Hub, assets: Assets, content: Page, viewer: Viewer | null): string {
  const { stylesheet, icon } = assets;
  const navigation = viewer?.role === 'admin' ? [...NAVIGATION, ...FOR_ADMINS] : NAVIGATION;
  const frame = { siteName: 'Content Hub', stylesheet, icon, navigation, corner: corner(hub, viewer) };
  return layout(isForAdmins(content) ? withAdminNavigation(content) : content, frame);
}

function isForAdmins({ section }: Page): boolean {
  return section?.startsWith('admin/') === true;
}

function withAdminNavigation(content: Page): Page {
  const link = ({ section, href, label }: (typeof ADMIN_PAGES)[number]): Html => html`
  <a href="${href}" ${section === content.section && html`aria-current="page"`}>${label}</a>`;
  const main = html`<nav class="sub" aria-label="Administration">${ADMIN_PAGES.map(link)}</nav>
${content.main}`;
  return { ...content, main, section: 'admin' };
}

function corner(hub: Hub, viewer: Viewer | null): Html {
  if (!viewer) return html`<a href="/sign-in">Sign in</a>`;
  const unread = notifications(hub).countUnread(viewer.id, MOST_UNREAD);
  return html`<a href="/notifications">Notifications${unread > 0 && unreadMark(unread)}</a>
      <a class="who" href="/settings">${viewer.displayName}</a>
      <form method="post" action="/sign-out"><button class="link">Sign out</button></form>`;
}

function unreadMark(unread: number): Html {
  return html` <span class="count">${unread < MOST_UNREAD ? unread : `${MOST_UNREAD - 1}+`}<span class="unseen">
        unread</span></span>`;
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
