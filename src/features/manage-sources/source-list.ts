import { ready, type Shown } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import type { Times } from '../../platform/http/times.ts';
import { sourceIcon } from '../attachments/icon-views.ts';
import type { Hub } from '../hub/hub.ts';
import { pagedList } from '../hub/lists.ts';
import { sources } from '../sources/source-store.ts';
import { SOURCE, sourcesFor } from './source-json.ts';

type ShownSource = Shown<typeof SOURCE>;

/** The public sources, and the viewer's own. The page is for visitors: `showSources` shows members another. */
export const sourceList = pagedList<ShownSource, 'id', undefined, 'public'>({
  access: 'public',
  api: '/api/sources',
  title: 'Sources',
  summary: 'List of public sources and your own sources',
  section: 'sources',
  key: ['id'],
  select: (hub, { req: { viewer }, after, limit }) =>
    sourcesFor(hub, sources(hub).list(viewer, after?.id ?? 0, limit), viewer),
  shape: ready(SOURCE),
  rows: publicSources,
  empty: 'There are no public sources yet.',
  more: 'More sources',
});

function publicSources(items: ShownSource[], _times: Times, hub: Hub): Html {
  return html`<ul class="sources">${items.map((source) => sourceItem(source, sourceIcon(hub, source)))}</ul>`;
}

const KINDS: Record<ShownSource['kind'], string> = {
  feed: 'a feed', webhook: 'a webhook', native: 'written on this hub',
};

function sourceItem({ id, title, siteUrl, kind }: ShownSource, icon: Html): Html {
  return html`
  <li>${icon}<div>
    <a class="title" href="/sources/${id}" dir="auto">${title}</a>
    <p class="meta">${siteUrl && URL.canParse(siteUrl) ? new URL(siteUrl).host : KINDS[kind]}</p>
  </div></li>`;
}
