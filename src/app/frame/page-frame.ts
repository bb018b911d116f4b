import { signInAgain } from '../../features/accounts/sign-in-pages.ts';
import { hubLook, PRODUCT, type HubLook } from '../../features/hub/hub-row-store.ts';
import type { Hub } from '../../features/hub/hub.ts';
import { readSaid } from '../../features/hub/said.ts';
import type { RefusedPage } from '../../platform/http/answer-request.ts';
import { readActs } from '../../features/reading/entry-store.ts';
import { undoButton } from '../../features/reading/list-views.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { narrowPage } from '../../platform/http/page-parts.ts';
import { page, seeOther, statusTitle, type Page, type Reply } from '../../platform/http/reply.ts';
import { DEFAULT_PREFERENCES } from '../../features/hub/preferences.ts';
import type { Preferences, Viewer } from '../../platform/http/router.ts';
import { ADMIN_LISTS } from './admin-lists.ts';
import { ARRIVALS, assets, MARK } from './assets.ts';
import { rail } from './rail.ts';

const ADMIN_PAGES = [
  { section: 'admin/', href: '/admin', label: 'Overview' },
  ...ADMIN_LISTS.map(({ page, title }) => ({ section: page.slice(1), href: page, label: title })),
  { section: 'admin/hub', href: '/admin/hub', label: 'Appearance' },
];

type Frame = { hub: Hub; look: HubLook; viewer: Viewer | null; said: Html | false };

/** Renders a whole page: the content with head, frame and the message about the last act. */
export function renderPage(hub: Hub, content: Page, viewer: Viewer | null, target: string): Html {
  const frame = { hub, look: hubLook(hub).read(), viewer, said: saidLine(hub, viewer, target) };
  return layout(content.section?.startsWith('admin/') ? withAdminNavigation(content) : content, frame);
}

function saidLine(hub: Hub, viewer: Viewer | null, target: string): Html | false {
  const said = readSaid(target);
  const undo = viewer && said?.undo && readActs(hub).live(viewer.id, said.undo) !== undefined
    && undoButton(said.undo, said.page);
  return said !== undefined && html`
<div class="said" role="status"><span>${said.text}</span>${undo}</div>`;
}

function withAdminNavigation(content: Page): Page {
  const link = ({ section, href, label }: (typeof ADMIN_PAGES)[number]): Html => html`
  <a href="${href}" ${section === content.section && html`aria-current="page"`}>${label}</a>`;
  const main = html`<nav class="tabs" aria-label="Administration">${ADMIN_PAGES.map(link)}</nav>
${content.main}`;
  return { ...content, main };
}

/** The HTML document around the content. `rel=expect` delays rendering until the whole document is there. */
function layout(content: Page, frame: Frame): Html {
  const { hub, look, viewer } = frame;
  const { density, textSize, theme, typeface, measure, keys, marksScrolled, timeZone } =
    viewer?.preferences ?? DEFAULT_PREFERENCES;
  const { stylesheet, workStylesheet, path, script, writeScript } = assets(hub);
  const scripts = content.script === 'write' ? [script, writeScript] : [script];
  return html`<!doctype html>
<html lang="en" data-density="${density}" data-text="${textSize}" data-theme="${theme}" data-typeface="${typeface}"
  data-measure="${measure}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="${theme === 'system' ? 'light dark' : theme}">
  ${theme !== 'dark' && themeColor('light', theme)}
  ${theme !== 'light' && themeColor('dark', theme)}
  ${content.refreshSeconds !== undefined && html`<meta http-equiv="refresh" content="${content.refreshSeconds}">`}
  <title>${content.title} · ${look.name}</title>
  <link rel="stylesheet" href="${stylesheet.path()}">
  ${!isForReading(content, viewer) && html`<link rel="stylesheet" href="${workStylesheet.path()}">`}
  <link rel="expect" href="#last" blocking="render">
  <link rel="icon" href="${path('icon.svg')}" type="image/svg+xml">
  <link rel="apple-touch-icon" href="${path('icon-180.png')}">
  <link rel="manifest" href="/manifest.webmanifest">
  ${viewer && scripts.map((one) => html`<script src="${one.path}" integrity="${one.hash}" defer></script>`)}
  ${content.alternates?.map(({ type, href, title }) => html`
  <link rel="alternate" type="${type}" href="${href}" title="${title}">`)}
</head>
<body data-keys="${keys ? 'on' : 'off'}" ${marksScrolled && html`data-scroll="on" `}${
  viewer && timeZone === null && html`data-zone="unknown"`}>
<a class="skip" href="#main">Skip to content</a>
${body(content, frame)}
${viewer && forTheScript(viewer)}
<div id="last" hidden></div>
</body>
</html>
`;
}

/** Whether a page is a member's list or post, which needs no rule of work.css; the page of a source has more on it. */
function isForReading({ shape, section }: Page, viewer: Viewer | null): boolean {
  return viewer !== null && (shape === 'list' || shape === 'article') && !section?.startsWith('source:');
}

/** The colour of the browser's own bars: that of paper in the stylesheet. */
function themeColor(scheme: 'light' | 'dark', theme: Preferences['theme']): Html {
  const colour = scheme === 'light' ? '#fbfaf6' : '#15171b';
  return html`<meta name="theme-color" ${
    theme === 'system' && html`media="(prefers-color-scheme: ${scheme})"`} content="${colour}">`;
}

function body(content: Page, frame: Frame): Html {
  switch (content.shape) {
    case 'door': return door(content, frame);
    case 'landing': return front(content, frame);
    case 'article': return withoutRail(content, frame);
    default: return frame.viewer ? withRail(content, frame, frame.viewer) : forVisitors(content, frame);
  }
}

function withRail(content: Page, frame: Frame, viewer: Viewer): Html {
  const { hub, look } = frame;
  return html`<div class="frame">
${rail(hub, viewer, content.section, look.name)}
<div class="page">
<header class="bar ${!content.bar && 'bare'}"><button class="menu-button iconic plain" popovertarget="rail"
  aria-label="Menu">${icon('menu')}</button>${content.bar ?? homeLink(look)}</header>
${mainPart(content, frame)}
</div>
</div>`;
}

function forVisitors(content: Page, frame: Frame): Html {
  return html`<header class="top">${homeLink(frame.look)}${siteNavigation(content, frame)}</header>
<div class="frame"><div class="page">
${content.bar && html`<header class="bar">${content.bar}</header>`}
${mainPart(content, frame)}
</div></div>
${colophon(frame)}`;
}

function withoutRail(content: Page, frame: Frame): Html {
  return html`<header class="bar thirds">${content.bar}</header>
<main id="main" class="post-grid">
${frame.said}
${content.main}
</main>`;
}

function front(content: Page, frame: Frame): Html {
  const { look } = frame;
  return html`<header class="masthead">
<div class="top"><div class="name">${MARK}<h1 dir="auto">${look.name}</h1></div>${siteNavigation(content, frame)}</div>
${look.text && html`<p class="text" dir="auto">${look.text}</p>`}
</header>
<main id="main" class="front">
${frame.said}
${content.main}
</main>
${colophon(frame)}`;
}

function door(content: Page, { look, said }: Frame): Html {
  return html`<div class="door">
<div class="face">${ARRIVALS}<p class="name" dir="auto"><a href="/">${look.name}</a></p>
${look.text && html`<p dir="auto">${look.text}</p>`}</div>
<main id="main">
${said}
${content.main}
</main>
</div>`;
}

function mainPart({ main, shape = 'work' }: Page, { said }: Frame): Html {
  return html`<main id="main" class="${shape}">
${said}
${main}
</main>`;
}

function homeLink({ name }: HubLook): Html {
  return html`<a class="brand" href="/">${MARK}<span class="name" dir="auto">${name}</span></a>`;
}

function siteNavigation({ section }: Page, { viewer }: Frame): Html {
  const link = (href: string, label: string, isHere: boolean): Html => html`
<a class="button plain" href="${href}" ${isHere && html`aria-current="page"`}>${label}</a>`;
  return html`<nav aria-label="Main">${link('/', 'Posts', section === 'all' || section === 'posts')}
${link('/sources', 'Sources', section === 'sources')}
${viewer ? html`${link('/write', 'Write', false)}<a class="button" href="/">Your list</a>`
    : html`<a class="button" href="/sign-in">Sign in</a>`}</nav>`;
}

function colophon({ look: { name } }: Frame): Html {
  const said = name === PRODUCT ? name : `${name} runs on ${PRODUCT}.`;
  return html`<footer class="colophon"><div><span dir="auto">${said}</span>
<a href="/posts.atom">Atom</a> <a href="/posts.json">JSON Feed</a></div></footer>`;
}

const KEYS: [keys: string[], what: string][] = [
  [['j', 'k'], 'Next post, previous post'],
  [['o', 'Enter'], 'Open the post'],
  [['l'], 'Next page of a list'],
  [['J', 'K'], 'Next source or folder with unread posts, previous one'],
  [['v'], 'Open the original in a new tab, and mark it as read'],
  [['m'], 'Mark it as read or unread'],
  [['s', 'f'], 'Star it'],
  [['t'], 'Full text, or as in the feed'],
  [['space'], 'Page down, then the next unread post'],
  [['-'], 'Less like this: a rule from words of its title'],
  [['A'], 'Mark several posts as read'],
  [['/'], 'Search'],
  [['g u', 'g a', 'g s', 'g w'], 'Go to unread, all or starred posts, or write'],
  [['Esc'], 'Close the dialog, or go back to the list'],
  [['?'], 'Show these shortcuts'],
  [['e'], 'Edit the open post, if it is yours'],
  [['Ctrl B', 'Ctrl I', 'Ctrl K'], 'While you write: bold, emphasis, link'],
  [['Ctrl Shift P', 'Ctrl S'], 'While you write: preview, save the draft'],
  [['Ctrl Enter'], 'Publish or save what you write'],
];

/** Elements that only the script of members' pages (assets/hub.js) shows. */
function forTheScript({ preferences: { keys } }: Viewer): Html {
  return html`${keys && html`
<dialog class="keys" id="help" aria-labelledby="keys">
<form method="dialog"><h2 id="keys">Keyboard shortcuts</h2><button>Close</button></form>
<dl>${KEYS.map(([keys, what]) => html`<div><dt>${
  keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>
<p><a href="/settings#preferences">Turn shortcuts off</a></p>
</dialog>`}
<p class="failed" id="failed" popover>That could not be saved. Try again.</p>`;
}

/** The page for a refused request; for a 401, one to sign in, which then leads back. */
export function errorPage(hub: Hub, problem: HttpError, { method, target, headers }: RefusedPage): Reply {
  if (problem.status === 401 && method === 'GET') return seeOther(`/sign-in?next=${encodeURIComponent(target)}`);
  if (problem.status === 401) return signInAgain(hub, headers, problem.status);
  const shown = narrowPage(statusTitle(problem.status), problem.message, html`
  <p><a class="button" href="/">Newest posts</a></p>`);
  return page(shown, problem.status, problem.headers);
}
