import { html, type Html } from '../../platform/http/html.ts';
import { AWAY, details, postButton } from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { Times } from '../../platform/http/times.ts';
import type { JobProgress } from '../../platform/jobs/job-records.ts';
import { progressBar } from '../hub/progress-views.ts';
import type { Follow } from '../follows/follow-store.ts';
import type { Source } from '../sources/source-store.ts';
import type { Webhook } from '../webhooks/webhook-store.ts';
import { stateLine } from './source-state.ts';

type SourceDetail = {
  source: Source;
  icon: Html;
  posts: Html;
  title?: string;
  bar?: Html;
  mayChange: boolean;
  follow: Follow | null;
  isMember: boolean;
  isSyncing: boolean;
  /** Whether the hub compares posts of the new source with their pages, to offer full texts if most are teasers. */
  isComparing: boolean;
  fullTextOffer: Html | false;
  progress: JobProgress | undefined;
  webhook: Webhook | undefined;
  runs: Html | null;
  offer: Html | null;
  times: Times;
};

/** Page: one source with its posts. Members see the source's state in one line, and its other details on demand. */
export function sourcePage(detail: SourceDetail): Page {
  const { source, icon, posts, title = source.title, bar, isSyncing, isComparing, isMember } = detail;
  const above = html`
${!bar && html`<header class="page-head"><h1>${icon} <span dir="auto">${source.title}</span></h1></header>`}
${isMember ? forMember(detail) : about(source)}`;
  const alternates = [
    { type: 'application/atom+xml', href: `/sources/${source.id}.atom`, title: source.title },
    { type: 'application/feed+json', href: `/sources/${source.id}.json`, title: source.title },
  ];
  return {
    title, alternates, section: `source:${source.id}`,
    ...(bar ? { bar, main: html`<div class="about-list">${above}</div>${posts}`, shape: 'list' as const }
      : { main: html`${above}${posts}` }),
    ...(isSyncing || isComparing ? { refreshSeconds: 3 } : {}),
  };
}

function about({ id, visibility, siteUrl, description }: Source): Html {
  return html`
<p class="meta">${visibility === 'private' && html`<span class="tag">private</span>`}
  ${siteUrl && html`<a href="${siteUrl}" ${AWAY}>${new URL(siteUrl).host}</a>`}
  <a href="/sources/${id}.atom">Atom</a> <a href="/sources/${id}.json">JSON Feed</a></p>
${description && html`<p class="about" dir="auto">${description}</p>`}`;
}

function forMember(detail: SourceDetail): Html {
  const { source, follow, mayChange, times, webhook, progress, offer, fullTextOffer, runs } = detail;
  const { id, kind, state } = source;
  return html`
<div class="actions source-line"><p>${stateLine(source, times, mayChange, webhook)}</p>
${!follow && postButton(`/sources/${id}/follow`, 'Follow', 'primary')}
${kind === 'native' && mayChange && html`<a class="button primary" href="/write?source=${id}">Write a post</a>`}
${mayChange && state === 'paused' && postButton(`/sources/${id}/resume`, 'Resume')}
${(follow || mayChange) && html`<a class="button plain" href="/sources/${id}/settings">Settings</a>`}</div>
${progress && html`<div class="said" role="status">${progressBar(progress, 'posts stored')}</div>`}
${offer}
${fullTextOffer}
${details('About this source', html`${about(source)}${runs}${
    mayChange && kind === 'feed' && state !== 'paused' && postButton(`/sources/${id}/sync`, 'Synchronise now')}`,
  { look: 'more-about' })}`;
}
