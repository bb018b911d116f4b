import { DAY } from '../../src/platform/clock.ts';
import type { Browser } from './browser.ts';
import type { LivedInHub } from './lived-in-hub.ts';
import { follow, submit } from './page-visits.ts';
import { waitUntil } from './wait-until.ts';

/** Who looks: the administrator, another member, or somebody who is not signed in. */
export type Who = 'ada' | 'bob' | 'nobody';

/**
 * One page in one state. `path` may need ids of the hub; `act` is done on the page, such as sending a form that is
 * refused, and leaves the browser on what is to be looked at.
 */
type PageState = {
  name: string;
  who: Who;
  path: string | ((hub: LivedInHub) => string);
  act?: (browser: Browser, hub: LivedInHub) => Promise<void>;
};

/** Every page of the hub in every state that looks different. A new page is a line here. */
export const EVERY_PAGE: PageState[] = [
  { name: 'public', who: 'nobody', path: '/' },
  { name: 'public-search', who: 'nobody', path: '/?q=lichens' },
  { name: 'public-nothing-found', who: 'nobody', path: '/?q=nothing-has-this' },
  { name: 'public-search-fault', who: 'nobody', path: '/?q=lichens+before:2026' },
  { name: 'help-search', who: 'nobody', path: '/help/search' },
  { name: 'public-post', who: 'nobody', path: '/posts/1' },
  { name: 'public-sources', who: 'nobody', path: '/sources' },
  { name: 'public-source', who: 'nobody', path: '/sources/1' },
  { name: 'sign-in', who: 'nobody', path: '/sign-in' },
  {
    name: 'sign-in-refused', who: 'nobody', path: '/sign-in',
    act: (browser) => submit(browser, { username: 'ada', password: 'not the password' }),
  },
  { name: 'join', who: 'nobody', path: ({ invitation }) => `/join/${invitation}` },
  {
    name: 'join-refused', who: 'nobody', path: ({ invitation }) => `/join/${invitation}`,
    act: (browser) => submit(browser, { username: 'not a name', password: 'long enough for a password' }),
  },
  { name: 'join-gone', who: 'nobody', path: '/join/unknown' },
  { name: 'new-password-gone', who: 'nobody', path: '/new-password/unknown' },
  { name: 'goodbye', who: 'nobody', path: '/goodbye' },
  { name: 'missing-for-visitors', who: 'nobody', path: '/nowhere' },

  { name: 'public-for-members', who: 'bob', path: '/public' },
  { name: 'list', who: 'ada', path: '/' },
  { name: 'list-to-begin-with', who: 'bob', path: '/' },
  { name: 'list-all', who: 'ada', path: '/all' },
  { name: 'list-starred', who: 'ada', path: '/starred' },
  { name: 'list-folder', who: 'ada', path: '/folders/Harbour' },
  { name: 'list-order', who: 'ada', path: '/folders/Harbour?show=each', act: openOrder },
  { name: 'post-in-a-list', who: 'ada', path: '/all/posts/3' },
  { name: 'list-muted', who: 'ada', path: '/muted' },
  { name: 'list-of-nothing', who: 'bob', path: '/starred' },
  { name: 'list-search-form', who: 'ada', path: '/all?q=' },
  { name: 'list-search', who: 'ada', path: '/all?q=scheduler' },
  { name: 'list-nothing-found', who: 'ada', path: '/?q=nothing-has-this' },
  { name: 'list-search-best', who: 'ada', path: '/all?q=the&by=relevance' },
  { name: 'list-search-fault', who: 'ada', path: '/all?q=scheduler+is:red' },
  { name: 'post', who: 'ada', path: '/posts/1' },
  { name: 'post-unread', who: 'bob', path: '/unread/posts/3' },
  { name: 'post-long-title', who: 'ada', path: '/posts/10' },
  { name: 'post-full-text', who: 'ada', path: '/posts/2?text=full' },
  { name: 'post-without-full-text', who: 'bob', path: '/posts/4?text=full' },
  { name: 'own-post', who: 'ada', path: ({ ownPost }) => `/posts/${ownPost}` },
  { name: 'own-post-edit', who: 'ada', path: ({ ownPost }) => `/posts/${ownPost}/edit` },
  { name: 'own-post-delete', who: 'ada', path: ({ ownPost }) => `/posts/${ownPost}/delete` },
  { name: 'write', who: 'ada', path: '/write' },
  { name: 'write-first', who: 'bob', path: '/write' },
  {
    name: 'write-refused', who: 'ada', path: '/write',
    act: (browser) => submit(browser, { title: ' ', content: 'Five owls.' }, '.bar .primary', '#post'),
  },
  {
    name: 'write-preview', who: 'ada', path: '/write',
    act: async (browser) => {
      await browser.type('[name=title]', 'Owls at dusk');
      await browser.type('[name=content]', 'Five of them, as https://owls.test/ says.\n\nTwo young.');
      await browser.click('.bar [name=preview]');
      await waitUntil('the preview is there', async () => /Two young/.test(await browser.text('.preview')));
    },
  },
  { name: 'write-drafts', who: 'ada', path: '/write' },
  { name: 'write-draft', who: 'ada', path: '/write', act: (browser) => follow(browser, '.drafts .name') },
  { name: 'write-scheduled', who: 'ada', path: '/write', act: schedule },
  {
    name: 'write-newer', who: 'ada', path: '/write',
    act: async (browser, lived) => {
      await schedule(browser, lived);
      await browser.type('[name=title]', ', newer');
      await follow(browser, '[name=save]');
    },
  },
  { name: 'sources', who: 'ada', path: '/sources' },
  {
    name: 'sources-chosen', who: 'ada', path: '/sources?folder=Harbour',
    act: async (browser) => {
      await openAll(browser);
      await browser.run(`for (const box of document.querySelectorAll('.pick [type=checkbox]')) box.checked = true`);
    },
  },
  {
    name: 'sources-move-refused', who: 'ada', path: '/sources?folder=Harbour',
    act: (browser) => sendWrong(browser, '#several', { folder: LONG }, '.bulk [value=move]', '[name=source]'),
  },
  {
    name: 'folder-refused', who: 'ada', path: '/sources?folder=Harbour',
    act: (browser) => sendWrong(browser, 'form[action="/sources/folders"]', { name: LONG }, '[value=rename]'),
  },
  { name: 'sources-of-others', who: 'bob', path: '/sources?show=others' },
  { name: 'sources-none', who: 'bob', path: '/sources?q=nothing-has-this' },
  { name: 'source-add', who: 'ada', path: '/sources/add', act: openAll },
  {
    name: 'source-add-refused', who: 'ada', path: '/sources/add',
    act: async (browser) => {
      await browser.run(`document.querySelector('[value=private]').checked = true`);
      const form = 'form[action="/sources/add"]';
      await submit(browser, { url: 'ftp://nowhere.test/' }, `${form} button`, form);
    },
  },
  {
    name: 'source-add-found', who: 'bob', path: ({ feedUrl }) => `/sources/add?url=${encodeURIComponent(feedUrl)}`,
    act: async (browser) => {
      await browser.run(`document.querySelector('[value=private]').checked = true`);
      await submit(browser, {}, 'form[action="/sources/add"] button', 'form[action="/sources/add"]');
    },
  },
  { name: 'source-import', who: 'ada', path: '/sources/import', act: openAll },
  {
    name: 'source-import-report', who: 'bob', path: '/sources/import',
    act: async (browser) => {
      await openAll(browser);
      await browser.run(`document.querySelector('[value=private]').checked = true;
        document.querySelector('[name=opml]').value = '<opml version="2.0"><body><outline text="News">' +
          '<outline text="Ferries" xmlUrl="https://ferries.test/feed"/><outline text="Bad" xmlUrl="javascript:x"/>' +
          '</outline></body></opml>'`);
      await submit(browser, {}, 'form[action="/sources/import"] .actions button', 'form[action="/sources/import"]');
    },
  },
  { name: 'source-settings', who: 'ada', path: '/sources/2/settings' },
  { name: 'source-settings-of-own', who: 'ada', path: '/sources/1/settings', act: openAll },
  {
    name: 'source-settings-refused', who: 'ada', path: '/sources/1/settings',
    act: (browser) => sendWrong(browser, 'form[action="/sources/1"]', { title: LONG }, 'button'),
  },
  {
    name: 'source-import-refused', who: 'ada', path: '/sources/import',
    act: (browser) => sendWrong(browser, 'form[action="/sources/import"]', { opml: '<opml' }, 'button', '[value=private]'),
  },
  { name: 'source', who: 'ada', path: '/sources/1' },
  { name: 'source-failing', who: 'ada', path: '/sources/3' },
  { name: 'source-of-a-webhook', who: 'ada', path: ({ webhook }) => `/sources/${webhook}` },
  { name: 'source-of-own-posts', who: 'ada', path: ({ notes }) => `/sources/${notes}` },
  { name: 'source-webhook', who: 'ada', path: ({ webhook }) => `/sources/${webhook}/settings`, act: openAll },
  {
    name: 'webhook-secret', who: 'ada', path: ({ webhook }) => `/sources/${webhook}/settings`,
    act: async (browser, { webhook }) => {
      await openAll(browser);
      await submit(browser, {}, `form[action="/sources/${webhook}/webhook/rotate"] button`);
    },
  },
  { name: 'source-delete', who: 'ada', path: '/sources/1/delete' },
  { name: 'source-delete-followed', who: 'ada', path: ({ notes }) => `/sources/${notes}/delete` },
  { name: 'source-transfer', who: 'ada', path: '/sources/1/transfer' },
  { name: 'source-offered', who: 'ada', path: '/sources/3' },
  { name: 'offers', who: 'bob', path: '/offers' },
  { name: 'offers-of-the-sender', who: 'ada', path: '/offers' },
  { name: 'sources-with-an-offer', who: 'bob', path: '/sources' },
  { name: 'notifications', who: 'bob', path: '/notifications' },
  { name: 'notifications-of-ada', who: 'ada', path: '/notifications' },
  { name: 'history', who: 'ada', path: '/history' },
  { name: 'history-empty', who: 'bob', path: '/history' },
  { name: 'settings', who: 'ada', path: '/settings' },
  { name: 'settings-of-a-member', who: 'bob', path: '/settings' },
  {
    name: 'settings-refused', who: 'bob', path: '/settings',
    act: (browser) => submit(
      browser, { currentPassword: 'not the password', newPassword: 'a new long password' },
      'form[action="/settings/password"] button', 'form[action="/settings/password"]',
    ),
  },
  { name: 'rules', who: 'ada', path: '/settings/rules' },
  { name: 'rules-none', who: 'bob', path: '/settings/rules' },
  { name: 'rules-less-like-this', who: 'ada', path: '/settings/rules/new?post=1' },
  { name: 'rules-change', who: 'ada', path: '/settings/rules/1' },
  {
    name: 'rules-refused', who: 'ada', path: '/settings/rules/new',
    act: (browser) => submit(browser, { match: 'title:storm before:today' }, 'form.stack .primary', 'form.stack'),
  },
  { name: 'apps', who: 'ada', path: '/settings/apps' },
  {
    name: 'apps-made', who: 'bob', path: '/settings/apps',
    act: (browser) => submit(
      browser, { name: 'NetNewsWire on my phone', currentPassword: 'correct horse battery' }, 'form[action="/settings/apps"] button',
    ),
  },
  { name: 'apps-check-missing', who: 'ada', path: '/settings/apps', act: showWithoutAsking },
  { name: 'apps-check', who: 'ada', path: '/settings/apps', act: checkWithPassword },
  { name: 'leave', who: 'bob', path: '/settings/delete' },
  { name: 'missing', who: 'ada', path: '/nowhere' },
  { name: 'forbidden', who: 'bob', path: '/admin' },
  { name: 'admin', who: 'ada', path: '/admin' },
  { name: 'admin-month', who: 'ada', path: '/admin?range=30d' },
  { name: 'admin-jobs', who: 'ada', path: '/admin/jobs?state=all' },
  { name: 'admin-errors', who: 'ada', path: '/admin/errors', act: openAll },
  { name: 'admin-alerts', who: 'ada', path: '/admin/alerts' },
  { name: 'admin-webhooks', who: 'ada', path: '/admin/webhooks' },
  { name: 'admin-audit', who: 'ada', path: '/admin/audit', act: openAll },
  { name: 'admin-accounts', who: 'ada', path: '/admin/accounts' },
  { name: 'admin-account', who: 'ada', path: '/admin/accounts/2' },
  { name: 'admin-audit-refused', who: 'ada', path: '/admin/audit?target=source:x' },
  { name: 'admin-invitations', who: 'ada', path: '/admin/invitations' },
  { name: 'admin-appearance', who: 'ada', path: '/admin/hub' },
  {
    name: 'admin-appearance-refused', who: 'ada', path: '/admin/hub',
    act: async (browser) => {
      await browser.run(`document.querySelector('[name=name]').value = ' '`);
      await submit(browser, {}, 'main form button');
    },
  },
  { name: 'said', who: 'ada', path: '/settings?said=preferences-saved' },
];

/** Schedules a post for next week, and opens it again. */
async function schedule(browser: Browser, { hub }: LivedInHub): Promise<void> {
  const next = new Date(hub.now() + 7 * DAY).toISOString().slice(0, 16);
  await browser.run(`document.querySelector('[name=publishAt]').value = '${next}'`);
  await browser.type('[name=title]', 'Owls next week');
  await browser.type('[name=content]', 'Six of them.');
  await follow(browser, '.bar .primary');
  await follow(browser, '.drafts .name');
}

async function openOrder(browser: Browser): Promise<void> {
  await browser.run(`document.querySelector('.drop:has(.choices)').open = true`);
}

/** Unfolds whatever is folded on the page, but the menus that float above it. */
async function openAll(browser: Browser): Promise<void> {
  await browser.run(`for (const part of document.querySelectorAll('main details')) part.open = true`);
}

/** Shows a page in its state. The browser is signed in as whoever looks, by the cookies of that person's client. */
export async function visit(browser: Browser, lived: LivedInHub, { who, path, act }: PageState): Promise<void> {
  await browser.become(lived.hub.address, who === 'nobody' ? new Map() : lived[who].cookies);
  await browser.goto(lived.hub.address + (typeof path === 'string' ? path : path(lived)));
  await act?.(browser, lived);
}

const CHECK = '/settings/apps/check';

/** Shows the check page as after the browser's question for a password was cancelled, which a test cannot cancel. */
async function showWithoutAsking(browser: Browser, { ada }: LivedInHub): Promise<void> {
  const { text } = await ada.page(CHECK);
  const scriptless = text.replace(/<script[^>]*><\/script>/, ''); // the page before has started the script already
  await browser.run('document.open(); document.write(arguments[0]); document.close()', scriptless);
}

/** The browser remembers the password of the first address, as if somebody had typed it. */
async function checkWithPassword(browser: Browser, { hub }: LivedInHub): Promise<void> {
  await browser.goto(`${hub.address.replace('://', '://any:word@')}${CHECK}`);
  await browser.goto(hub.address + CHECK);
}

const LONG = 'x'.repeat(201);

/** Sends a form with values that the browser itself would not let through; `ticked`: what else is chosen first. */
async function sendWrong(
  browser: Browser, form: string, values: Record<string, string>, button: string, ticked = '',
): Promise<void> {
  await openAll(browser);
  await browser.run(`
    const [form, values, ticked] = [document.querySelector(arguments[0]), arguments[1], arguments[2]];
    form.noValidate = true;
    for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
    if (ticked) form.querySelector(ticked).checked = true;`, form, values, ticked);
  await follow(browser, `${form} ${button}`);
}
