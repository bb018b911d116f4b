import { html, type Html } from '../../platform/http/html.ts';
import { formProblem, type HttpError, type Page } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { moment } from '../../platform/http/utc-times.ts';
import type { Source } from '../sources/source-store.ts';
import type { ImportResult } from './opml.ts';

/** What was typed before and what is wrong with it; empty for a fresh form. */
export type AddForm = { values?: Record<string, string>; opml?: string; problem?: HttpError };

const TITLED = {
  native: { summary: 'Write your own posts', placeholder: 'Notes' },
  webhook: { summary: 'Receive posts from a program (webhook)', placeholder: 'Deployments' },
};
const KINDS: Record<Source['kind'], string> = { feed: 'feed', webhook: 'webhook', native: 'own posts' };

/** The list of sources, with the forms for adding some. */
export function sourcesPage(
  { items, next, viewer, form }: { items: Source[]; next: string | null; viewer: Viewer | null; form: AddForm },
): Page {
  const sent = form.values?.['kind'] ?? 'feed';
  const formOf = (kind: string): AddForm => sent === kind ? form : {};
  const main = html`
<header class="page-head"><h1>Sources</h1></header>
${viewer && html`
${addForm(formOf('feed'))}
${titledForm('native', formOf('native'))}
${titledForm('webhook', formOf('webhook'))}`}
${items.length > 0 ? html`<ul class="sources">${items.map(sourceItem)}</ul>` : nothingHere(viewer)}
${next && html`<p class="more"><a class="button" rel="next" href="/sources?cursor=${next}">More sources</a></p>`}
${viewer && opmlSection(form)}`;
  return { title: 'Sources', main, section: 'sources' };
}

function addForm({ values = {}, opml, problem }: AddForm): Html {
  return html`
<form method="post" action="/sources" class="panel stack">
  <h2>Follow a feed</h2>
  ${problem && opml === undefined && formProblem(problem)}
  <label>Address of a feed, or of a site that has one
    <input name="url" value="${values['url']}" required maxlength="2000" inputmode="url" autocapitalize="none"
      spellcheck="false" placeholder="https://example.org/feed.xml"></label>
  <details ${(values['title'] || values['visibility'] === 'private' || values['username']) && html`open`}>
    <summary>Title, visibility and password</summary>
    <label>Title <span class="optional">optional; the feed’s own title by default</span>
      <input name="title" value="${values['title']}" maxlength="200"></label>
    ${visibilityChoice(values['visibility'] ?? 'public')}
    ${passwordFields(values['username'], 'if the feed requires one; only you can then read its posts')}
  </details>
  <button>Follow</button>
</form>`;
}

/** A form for a source that needs nothing but a title. */
function titledForm(kind: 'native' | 'webhook', { values = {}, problem }: AddForm): Html {
  const { summary, placeholder } = TITLED[kind];
  return html`
<details class="panel" ${problem && html`open`}>
  <summary>${summary}</summary>
  <form method="post" action="/sources" class="stack">
    <input type="hidden" name="kind" value="${kind}">
    ${problem && formProblem(problem)}
    <label>Title of the source
      <input name="title" value="${values['title']}" required maxlength="200" placeholder="${placeholder}"></label>
    ${visibilityChoice(values['visibility'] ?? 'public')}
    <button>Create</button>
  </form>
</details>`;
}

function visibilityChoice(chosen: string): Html {
  return html`
    <label>Who can read its posts
      <select name="visibility">
        <option value="public" ${chosen === 'public' && html`selected`}>everyone</option>
        <option value="private" ${chosen === 'private' && html`selected`}>only you</option>
      </select></label>`;
}

/** A password is never shown, not even the one that was just typed. */
function passwordFields(username: string | undefined, when: string): Html {
  return html`
    <label>User name at the publisher <span class="optional">${when}</span>
      <input name="username" value="${username}" maxlength="1024" autocomplete="off" autocapitalize="none"
        spellcheck="false"></label>
    <label>Password at the publisher
      <input name="password" type="password" maxlength="1024" autocomplete="new-password"></label>`;
}

function opmlSection({ opml, problem }: AddForm): Html {
  return html`
<details class="panel" ${opml !== undefined && html`open`}>
  <summary>Import and export feeds (OPML)</summary>
  <p><a class="quiet" href="/api/sources.opml">Download your feeds as OPML</a></p>
  <form method="post" action="/sources/import" class="stack">
    ${problem && opml !== undefined && formProblem(problem)}
    <label>Paste an OPML document to follow all of its feeds
      <textarea name="opml" rows="6" required spellcheck="false">${opml}</textarea></label>
    <button>Import</button>
  </form>
</details>`;
}

function sourceItem(source: Source): Html {
  return html`
  <li>
    <a class="title" href="/sources/${source.id}">${source.title}</a> ${stateTag(source)}
    <p class="meta">${source.feedUrl ? new URL(source.feedUrl).host : KINDS[source.kind]}</p>
  </li>`;
}

function stateTag({ state, visibility }: Source): Html {
  return html`${state !== 'active' && html`<span class="tag ${state}">${state}</span>`}
    ${visibility === 'private' && html`<span class="tag">private</span>`}`;
}

function nothingHere(viewer: Viewer | null): Html {
  const member = 'You have no sources yet. Add the address of a site you like.';
  return html`<p class="empty">${viewer ? member : 'There are no public sources yet.'}</p>`;
}

type SourceDetail = {
  source: Source;
  icon: Html;
  iconIs: 'there' | 'cleared' | 'none';
  posts: Html;
  /** For a member, who reads them here. */
  bar?: Html;
  mayChange: boolean;
  /** Whether the viewer hears of new posts; null for anybody. */
  isFollowed: boolean | null;
  isSyncing: boolean;
  webhook: Html | null;
  problem: HttpError | undefined;
};

/** One source: what it is, how its synchronisation goes for those who may change it, and its posts. */
export function sourcePage(detail: SourceDetail): Page {
  const { source, icon, posts, bar, mayChange, isFollowed, isSyncing } = detail;
  const about = html`
<header class="page-head">
  ${!bar && html`<h1>${icon} <span dir="auto">${source.title}</span></h1>`}
  <p class="meta">${stateTag(source)} ${source.siteUrl && externalLink(source.siteUrl)}
    <a href="/sources/${source.id}.atom">Atom</a> <a href="/sources/${source.id}.json">JSON Feed</a></p>
  ${source.description && html`<p class="lead" dir="auto">${source.description}</p>`}
</header>
${isFollowed !== null && followForm(source, isFollowed)}
${mayChange && ownerPanel(detail)}`;
  const alternates = [
    { type: 'application/atom+xml', href: `/sources/${source.id}.atom`, title: source.title },
    { type: 'application/feed+json', href: `/sources/${source.id}.json`, title: source.title },
  ];
  return {
    title: source.title, alternates, section: `source:${source.id}`,
    ...(bar ? { bar, main: html`<div class="work">${about}</div>${posts}`, shape: 'list' as const }
      : { main: html`${about}${posts}` }),
    ...(isSyncing ? { refreshSeconds: 3 } : {}),
  };
}

function followForm({ id }: Source, isFollowed: boolean): Html {
  return html`
<form class="follow" method="post" action="/sources/${id}/${isFollowed ? 'unfollow' : 'follow'}">
  ${!isFollowed && html`<input type="hidden" name="notify" value="1">`}
  <button class="secondary">${isFollowed ? 'Stop notifying me' : 'Notify me of new posts'}</button>
</form>`;
}

function externalLink(url: string): Html {
  return html`<a href="${url}" rel="noopener noreferrer" referrerpolicy="no-referrer">${new URL(url).host}</a>`;
}

function ownerPanel({ source, iconIs, isSyncing, webhook, problem }: SourceDetail): Html {
  return html`
<section class="panel">
  ${source.stateReason && html`<p class="problem">${source.stateReason}</p>`}
  ${source.kind === 'feed' && syncFacts(source, isSyncing)}
  ${webhook}
  <div class="actions">
    ${source.kind === 'native' && html`<a class="button" href="/sources/${source.id}/write">Write a post</a>`}
    ${source.kind === 'feed' && source.state !== 'paused' && button(`/sources/${source.id}/sync`, 'Synchronise now')}
    ${source.state === 'paused' && button(`/sources/${source.id}/resume`, 'Resume')}
    ${source.state !== 'paused' && button(`/sources/${source.id}/pause`, 'Pause')}
    ${iconIs === 'there' && button(`/sources/${source.id}/icon/clear`, 'Show a letter instead of its icon')}
    ${iconIs === 'cleared' && button(`/sources/${source.id}/icon/find`, 'Look for its icon')}
    <a class="quiet" href="/sources/${source.id}/transfer">Transfer</a>
    <a class="quiet" href="/sources/${source.id}/delete">Delete</a>
  </div>
  <details ${problem && html`open`}>
    <summary>Title and ${source.kind === 'feed' ? 'access' : 'visibility'}</summary>
    <form method="post" action="/sources/${source.id}" class="stack">
      ${problem && formProblem(problem)}
      <label>Title <input name="title" value="${source.title}" required maxlength="200"></label>
      ${source.hadPassword ? staysPrivate(source) : visibilityChoice(source.visibility)}
      ${source.kind === 'feed' && passwordFields('', source.hasPassword
        ? 'leave empty to keep the current one' : 'if the feed requires one; only you can then read its posts')}
      <button>Save</button>
    </form>
    ${source.hasPassword === 1 && html`
    <form method="post" action="/sources/${source.id}">
      <input type="hidden" name="forget" value="1">
      <button class="secondary">Remove user name and password</button>
    </form>`}
  </details>
</section>`;
}

function staysPrivate({ hasPassword }: Source): Html {
  return hasPassword
    ? html`<p>The hub signs in to this feed with a user name and password, so only you can read its posts.</p>`
    : html`<p>These posts were read with a user name and password, so only you can read them. If everyone can read the
        feed now and you want to share it, delete this source and add the feed again.</p>`;
}

function syncFacts({ feedUrl, state, lastSuccessAt, nextSyncAt }: Source, isSyncing: boolean): Html {
  return html`
  <dl class="facts">
    <dt>Feed</dt><dd><code>${feedUrl}</code></dd>
    <dt>Last synchronised</dt><dd>${lastSuccessAt === null ? 'never' : moment(lastSuccessAt)}</dd>
    <dt>Next</dt><dd>${isSyncing ? 'in progress' : nextTime(state, nextSyncAt)}</dd>
  </dl>`;
}

function nextTime(state: Source['state'], nextSyncAt: number | null): Html | string {
  return state === 'paused' || nextSyncAt === null ? 'when resumed' : moment(nextSyncAt);
}

function button(action: string, label: string): Html {
  return html`<form method="post" action="${action}"><button class="secondary">${label}</button></form>`;
}

/** Asks before a source is deleted. */
export function confirmDeletePage(source: Source): Page {
  const main = html`
<section class="narrow">
  <h1>Delete this source?</h1>
  <p class="lead">“${source.title}” will be deleted permanently, with all its posts and
    their attachments. To only stop new posts, pause it instead.</p>
  <form method="post" class="actions">
    <button class="danger">Delete source</button>
    <a class="quiet" href="/sources/${source.id}">Keep it</a>
  </form>
</section>`;
  return { title: 'Delete this source?', main };
}

/** Asks to whom a source is to be given. */
export function transferPage(source: Source, { values = {}, problem }: AddForm): Page {
  const main = html`
<section class="narrow">
  <h1>Transfer this source</h1>
  <p class="lead">“${source.title}” will belong to another account of this hub, with all its posts and files.
    From then on only the new owner can manage it${source.visibility === 'private' && ' and read its posts'}.</p>
  ${source.kind === 'webhook' && html`
  <p>You still know its secret. The new owner is asked to create a new one; yours stays valid for 24 hours after that,
    or until another one is created.</p>`}
  ${source.hasPassword === 1 && html`
  <p>The hub keeps using the user name and password that you entered for this feed. The new owner cannot see them, but
    receives posts by means of them. Remove them first if you do not want that.</p>`}
  ${problem && formProblem(problem)}
  <form method="post" class="stack">
    <label>Sign-in name of the new owner
      <input name="username" value="${values['username']}" required maxlength="32" autocomplete="off"
        autocapitalize="none" spellcheck="false"></label>
    <div class="actions"><button>Transfer source</button>
      <a class="quiet" href="/sources/${source.id}">Keep it</a></div>
  </form>
</section>`;
  return { title: 'Transfer this source', main, section: 'sources' };
}

function refusedItem({ url, reason }: ImportResult['refused'][number]): Html {
  return html`<li><code>${url}</code> ${reason}</li>`;
}

/** What became of the feeds of an OPML document. */
export function importedPage({ added, alreadyFollowed, leftOut, refused }: ImportResult): Page {
  const main = html`
<section class="narrow">
  <h1>Feeds imported</h1>
  <p class="lead">${added} added${alreadyFollowed > 0 && `, ${alreadyFollowed} already followed`}.
    Their posts will arrive within minutes.</p>
  ${leftOut > 0 && html`
  <p class="problem">${leftOut} left out: your account has reached the maximum number of sources.</p>`}
  ${refused.length > 0 && html`<h2>Not imported</h2><ul>${refused.map(refusedItem)}</ul>`}
  <p><a class="button" href="/sources">Go to sources</a></p>
</section>`;
  return { title: 'Feeds imported', main, section: 'sources' };
}
