import { html, type Html } from '../../platform/http/html.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { Times } from '../../platform/http/times.ts';
import type { JobProgress } from '../../platform/jobs/job-records.ts';
import { progressBar } from '../hub/progress-views.ts';
import type { Follow } from '../follows/follow-store.ts';
import type { Source } from '../sources/source-store.ts';
import type { Webhook } from '../webhooks/webhook-store.ts';
import { stateLine } from './source-state.ts';

/** Page for visitors: the public sources. */
export function publicSourcesPage(
  { items, next }: { items: Source[]; next: string | null }, iconOf: (source: Source) => Html,
): Page {
  const main = html`
${items.length > 0 ? html`<ul class="sources">${items.map((source) => sourceItem(source, iconOf(source)))}</ul>`
    : html`<p class="empty">There are no public sources yet.</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/sources?cursor=${next}">More sources</a></p>`}`;
  return { title: 'Sources', main, bar: html`<h1>Sources</h1>`, section: 'sources' };
}

const KINDS: Record<Source['kind'], string> = { feed: 'a feed', webhook: 'a webhook', native: 'written on this hub' };

function sourceItem({ id, title, siteUrl, kind }: Source, icon: Html): Html {
  return html`
  <li>${icon}<div>
    <a class="title" href="/sources/${id}" dir="auto">${title}</a>
    <p class="meta">${siteUrl && URL.canParse(siteUrl) ? new URL(siteUrl).host : KINDS[kind]}</p>
  </div></li>`;
}

type SourceDetail = {
  source: Source;
  icon: Html;
  posts: Html;
  /** The title and header bar of the page for a member, who reads the source's posts on this page. */
  title?: string;
  bar?: Html;
  mayChange: boolean;
  /** The viewer's follow of the source; null for visitors, and for members who do not follow the source. */
  follow: Follow | null;
  isMember: boolean;
  isSyncing: boolean;
  /** The progress of a synchronisation that is storing a large feed. */
  progress: JobProgress | undefined;
  webhook: Webhook | undefined;
  /** The results of the source's last runs, for managers of the source. */
  runs: Html | null;
  /** The open offer of the source, for its managers. */
  offer: Html | null;
  times: Times;
};

/** Page: one source with its state and posts. */
export function sourcePage(detail: SourceDetail): Page {
  const { source, icon, posts, title = source.title, bar, mayChange, isSyncing, times, webhook, isMember } = detail;
  const about = html`
<header class="page-head">
  ${!bar && html`<h1>${icon} <span dir="auto">${source.title}</span></h1>`}
  <p class="meta">${source.visibility === 'private' && html`<span class="tag">private</span>`}
    ${source.siteUrl && externalLink(source.siteUrl)}
    <a href="/sources/${source.id}.atom">Atom</a> <a href="/sources/${source.id}.json">JSON Feed</a></p>
  ${source.description && html`<p class="about" dir="auto">${source.description}</p>`}
  ${isMember && html`<p>${stateLine(source, times, mayChange, webhook)}</p>`}
</header>
${detail.progress && html`<div class="said" role="status">${progressBar(detail.progress, 'posts stored')}</div>`}
${detail.offer}
${detail.runs}
${isMember && acts(detail)}`;
  const alternates = [
    { type: 'application/atom+xml', href: `/sources/${source.id}.atom`, title: source.title },
    { type: 'application/feed+json', href: `/sources/${source.id}.json`, title: source.title },
  ];
  return {
    title, alternates, section: `source:${source.id}`,
    ...(bar ? { bar, main: html`<div class="work">${about}</div>${posts}`, shape: 'list' as const }
      : { main: html`${about}${posts}` }),
    ...(isSyncing ? { refreshSeconds: 3 } : {}),
  };
}

/** The buttons on the page of a source; each button is a form of its own. */
function acts({ source: { id, kind, state }, follow, mayChange }: SourceDetail): Html {
  return html`
<div class="actions">
  ${kind === 'native' && mayChange && html`<a class="button primary" href="/write?source=${id}">Write a post</a>`}
  ${!follow && html`<form method="post" action="/sources/${id}/follow"><button class="primary">Follow</button></form>`}
  ${mayChange && kind === 'feed' && state !== 'paused' && button(`/sources/${id}/sync`, 'Synchronise now')}
  ${mayChange && state === 'paused' && button(`/sources/${id}/resume`, 'Resume')}
  ${(follow || mayChange) && html`<a class="button" href="/sources/${id}/settings">Settings</a>`}
</div>`;
}

function externalLink(url: string): Html {
  return html`<a href="${url}" rel="noopener noreferrer" referrerpolicy="no-referrer">${new URL(url).host}</a>`;
}

export function button(action: string, label: string): Html {
  return html`<form method="post" action="${action}"><button class="secondary">${label}</button></form>`;
}
