import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { once, type Hub } from '../../features/hub/hub.ts';
import { signInAgain } from '../../features/accounts/sign-in-pages.ts';
import { notifications } from '../../features/notifications/notification-store.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { type HttpError, page, type Page, type Reply, seeOther, statusTitle, text } from '../../platform/http/reply.ts';
import type { RefusedPage } from '../../platform/http/answer-request.ts';
import { route, type Route, type Viewer } from '../../platform/http/router.ts';
import { ADMIN_LISTS } from './admin-lists.ts';

const ASSETS = join(import.meta.dirname, 'assets');
const FOR_EVER = { 'cache-control': 'public, max-age=31536000, immutable' };

const NAVIGATION = [
  { section: 'posts', href: '/', label: 'Posts' },
  { section: 'sources', href: '/sources', label: 'Sources' },
];

const FOR_ADMINS = [{ section: 'admin', href: '/admin', label: 'Admin' }];

/** The pages for administrators, each with the section that it names. */
const ADMIN_PAGES = [
  { section: 'admin/', href: '/admin', label: 'Overview' },
  ...ADMIN_LISTS.map(({ name, label }) => ({ section: `admin/${name}`, href: `/admin/${name}`, label })),
];

/** What stands around every page. */
type Frame = {
  siteName: string;
  stylesheet: string;
  icon: string;
  /** For members. */
  script: Asset | null;
  navigation: { section: string; href: string; label: string }[];
  /** At the end of the navigation: who is signed in. */
  corner: Html;
};

/** Unread notifications are counted up to this number, at which the page shows "99+". */
const MOST_UNREAD = 100;

/** Puts the hub's head and navigation around a page. */
export function renderPage(hub: Hub, content: Page, viewer: Viewer | null): string {
  const { stylesheet, icon, script } = assets(hub);
  const navigation = viewer?.role === 'admin' ? [...NAVIGATION, ...FOR_ADMINS] : NAVIGATION;
  const frame = {
    siteName: 'Content Hub', stylesheet: stylesheet.path, icon: icon.path, script: viewer && script, navigation,
    corner: corner(hub, viewer),
  };
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

/** A whole HTML document around the page's own part, with nothing from elsewhere. */
function layout(content: Page, frame: Frame): string {
  return html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  ${content.refreshSeconds !== undefined && html`<meta http-equiv="refresh" content="${content.refreshSeconds}">`}
  <title>${content.title} · ${frame.siteName}</title>
  <link rel="stylesheet" href="${frame.stylesheet}">
  <link rel="icon" href="${frame.icon}" type="image/svg+xml">
  ${frame.script && html`<script src="${frame.script.path}" integrity="${frame.script.hash}" defer></script>`}
  ${(content.alternates ?? []).map(alternateLink)}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="site">
  <nav aria-label="Main">
    <a class="brand" href="/">${frame.siteName}</a>
    ${frame.navigation.map((link) => navigationLink(link, content.section))}
    <span class="corner">${frame.corner}</span>
  </nav>
</header>
<main id="main">
${content.main}
</main>
</body>
</html>
`.markup;
}

function alternateLink({ type, href, title }: NonNullable<Page['alternates']>[number]): Html {
  return html`<link rel="alternate" type="${type}" href="${href}" title="${title}">`;
}

function navigationLink({ section, href, label }: Frame['navigation'][number], current: string | undefined): Html {
  return html`<a href="${href}" ${section === current && html`aria-current="page"`}>${label}</a>`;
}

/**
 * The stylesheet, the icon and the script, read once: their addresses, and the routes that answer there. The addresses
 * hold their hashes, so that browsers may keep them for ever.
 */
export const assets = once((_hub: Hub) => {
  const stylesheet = readAsset('hub.css', 'text/css; charset=utf-8');
  const icon = readAsset('icon.svg', 'image/svg+xml');
  const script = readAsset('hub.js', 'text/javascript; charset=utf-8');
  return { stylesheet, icon, script, routes: [stylesheet.route, icon.route, script.route] };
});

/** `hash`: as `integrity` and the Content-Security-Policy name it. */
type Asset = { path: string; hash: string; route: Route };

function readAsset(name: string, contentType: string): Asset {
  const content = readFileSync(join(ASSETS, name), 'utf8');
  const digest = createHash('sha256').update(content).digest();
  const path = `/assets/${digest.toString('hex').slice(0, 12)}/${name}` as const;
  const reply: Reply = text(content, contentType, FOR_EVER);
  const answering = route(`GET ${path}`, 'public', `Asset: ${name}`, () => reply, { cached: true });
  return { path, hash: `sha256-${digest.toString('base64')}`, route: answering };
}
