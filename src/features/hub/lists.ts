import { choice, listOf, noted, PAGE, text, type Shape, type Shapes } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { nextLink, readLimit, readPage, STANDARD_LIMIT } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { emptyText, nextPage, titledPage } from '../../platform/http/page-parts.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import { timesOf, type Times } from '../../platform/http/times.ts';
import type { Access, Operation, RequestFor } from '../../platform/http/router.ts';
import { schemasOf, type Endpoint } from './acts.ts';
import type { Hub } from './hub.ts';
import { download, formatsOf, type CsvColumns } from './list-downloads.ts';

type Dress = 'page' | 'api';

type ListFilter<Filter> = {
  /** Reads the list's filter from the URL, or throws 400. A page without a query string may list less than the API. */
  read(query: URLSearchParams, dress: Dress): Filter;
  /** The filter's parameters, for the description of the API. */
  query: Shapes;
  /** Links or a form below the page's title. `problem`: the error of a field of the filter. */
  controls?(hub: Hub, query: URLSearchParams, filter: Filter | undefined, problem?: HttpError): Html;
  /** The API query for the items that the page shows, if it differs from the page's own. */
  apiQuery?(filter: Filter): Record<string, string>;
};

/** The next `limit` items, in the list's order, after the item whose key columns are `after`. */
type Asked<Item, Key extends keyof Item, Filter, By extends Access> = {
  req: RequestFor<By>; after: Pick<Item, Key> | undefined; limit: number; filter: Filter;
};

type Declared<Item, Key extends keyof Item, Filter, By extends Access> = {
  access: By;
  api?: `/api/${string}`;
  page?: `/${string}`;
  title: string;
  summary: string; // of the list in the API
  section?: string; // of the menu, if it has another name than the page
  key: readonly Key[];
  select(hub: Hub, asked: Asked<Item, Key, Filter, By>): Item[];
  filter?: ListFilter<Filter>;
  limit?: number; // items of a page, if the request has no limit
  shape: Shape<object, Item>; // of an item in the API
  csv?: CsvColumns<Item>; // without these, the API exports JSON lines only
  lead?(hub: Hub): Html; // introduces the list, below the page's title
  above?(hub: Hub): Html | false; // above the items, such as a form that creates one
  rows?(items: Item[], times: Times, hub: Hub, req: RequestFor<By>): Html; // on pages
  below?: Html; // below the items, if there are any
  empty?: string; // shown if the list has no items
  more?: string; // the label of the link to the next page; default: 'Older'
  offersDownloads?: boolean; // on its page
  refreshSeconds?(items: Item[]): number | undefined; // until the page reloads; undefined: never
};

type Found<Item> = { items: Item[]; next: string | null };

/** A form of the page, refused or done, in place of what is above the items. */
type FormAnswer = { above?: Html; status?: number };

/** A list in the API, to download, as a page, and as a part of other pages. */
export type PagedList<Item, Filter, Request> = {
  title: string;
  page: string; // its address
  routes: Endpoint[];
  find(hub: Hub, req: Request, filter: Filter): Found<Item>;
  /** The items, and the link to the next page. */
  part(hub: Hub, req: Request, found: Found<Item>, query?: URLSearchParams): Html;
  showPage(hub: Hub, req: Request, answer?: FormAnswer): Reply;
};

export function pagedList<Item, Key extends keyof Item, Filter = undefined, By extends Access = 'member'>(
  declared: Declared<Item, Key, Filter, By>,
): PagedList<Item, Filter, RequestFor<By>> {
  type Request = RequestFor<By>;
  const { access, api, title, summary, key, shape, limit: usual = STANDARD_LIMIT } = declared;
  const address = declared.page ?? '';
  const section = declared.section ?? address.slice(1);

  const filterOf = (dress: Dress, query: URLSearchParams): Filter => declared.filter?.read(query, dress) as Filter;
  const find = (hub: Hub, req: Request, filter: Filter, limit = readLimit(req.query, usual)): Found<Item> =>
    readPage<Item, Key>(req.query, key, (after, count) =>
      declared.select(hub, { req, after: after as Pick<Item, Key> | undefined, limit: count, filter }), limit);

  function answerApi(hub: Hub, req: Request): Reply {
    const filter = filterOf('api', req.query);
    const format = hasDownloads(access) ? req.query.get('format') ?? 'json' : 'json';
    if (format !== 'json') {
      return download(declared, req.path, format, (after, limit) =>
        declared.select(hub, { req, after, limit, filter }));
    }
    const { items, next } = find(hub, req, filter);
    return json({ items: items.map(shape.show), next }, 200, nextLink(req.path, req.query, next));
  }

  function part(hub: Hub, req: Request, { items, next }: Found<Item>, query = req.query): Html {
    const nothing = query.get('cursor') ? 'There is nothing further.' : declared.empty ?? '';
    return html`
${items.length > 0 ? declared.rows?.(items, timesOf(hub, req.viewer), hub, req) : emptyText(nothing)}
${nextPage(next && `${address || req.path}?${withChange(query, 'cursor', next)}`, declared.more ?? 'Older')}`;
  }

  function showPage(hub: Hub, req: Request, answer: FormAnswer = {}): Reply {
    const { lead, above, below, filter: asked, refreshSeconds } = declared;
    const { filter, problem } = filterOfPage(req.query);
    const found = problem ? undefined : find(hub, req, filter as Filter, Math.min(readLimit(req.query, usual), usual));
    const hasItems = found !== undefined && found.items.length > 0;
    const controls = asked?.controls?.(hub, req.query, filter, problem);
    const main = html`
${(lead || controls) && html`<header class="page-head">${lead?.(hub)}
  ${controls}</header>`}
${answer.above ?? above?.(hub)}
${found && part(hub, req, found)}
${hasItems && below}
${hasItems && declared.offersDownloads && downloads(req.query, filter as Filter)}`;
    const again = found && refreshSeconds?.(found.items);
    const shown = titledPage(title, main, { section, ...(again !== undefined && { refreshSeconds: again }) });
    return page(shown, answer.status ?? problem?.status);
  }

  function filterOfPage(query: URLSearchParams): { filter?: Filter; problem?: HttpError } {
    try {
      return { filter: filterOf('page', query) };
    } catch (problem) {
      if (!(problem instanceof HttpError) || problem.errors.length === 0) throw problem;
      return { problem };
    }
  }

  function downloads(query: URLSearchParams, filter: Filter): Html {
    const asked = declared.filter?.apiQuery ? new URLSearchParams(declared.filter.apiQuery(filter)) : query;
    return html`
<p class="actions"><span>Download all matching items:</span>
  ${formatsOf(declared).map(([format, label]) => html`
  <a href="${api}?${withChange(asked, 'format', format)}">${label}</a>`)}</p>`;
  }

  const routes: object[] = [];
  const operation = operationOf(declared);
  if (api) routes.push({ pattern: `GET ${api}`, access, summary, operation, handler: answerApi });
  if (address) {
    routes.push({
      pattern: `GET ${address}`, access, summary: `Page: ${title.toLowerCase()}`,
      handler: (hub: Hub, req: Request) => showPage(hub, req),
    });
  }
  return { title, page: address, routes: routes as Endpoint[], find, part, showPage };
}

function operationOf(
  { access, shape, filter, csv }: { access: Access; shape: Shape; filter?: { query: Shapes }; csv?: object },
): Operation {
  const description = 'json returns one page, other formats all matching rows; jsonl has one JSON object per line';
  const format = noted(choice(['json', ...formatsOf({ csv }).map(([name]) => name)]), { default: 'json', description });
  const page = { 'application/json': listOf(shape).schema };
  const query = { ...PAGE, ...filter?.query };
  if (!hasDownloads(access)) return { query: schemasOf(query), answers: { 200: page, 304: null } };
  return {
    query: schemasOf({ ...query, format }),
    answers: { 200: { ...page, 'application/x-ndjson': text.schema, ...(csv && { 'text/csv': text.schema }) } },
  };
}

/** A visitor gets pages only: 5,000 sources at once cost 20 times as much as a page of 100. */
function hasDownloads(access: Access): boolean {
  return access !== 'public';
}

function withChange(query: URLSearchParams, name: string, value: string): string {
  const kept = [...query].filter(([one, content]) => one !== 'cursor' && one !== name && content);
  return new URLSearchParams([...kept, [name, value]]).toString();
}

/** A filter by the query parameter `state`. Without `state`, a page lists entries in the state `first`, or all. */
export function byState<State extends string>(
  name: string, states: readonly State[], first?: State,
): ListFilter<State | undefined> {
  const choices = first ? [...states, 'all'] : ['all', ...states];
  const link = (state: string, isShown: boolean): Html =>
    isShown ? html`<strong>${state}</strong> ` : html`<a href="/admin/${name}?state=${state}">${state}</a> `;
  return {
    read(query, dress) {
      const value = query.get('state') ?? '';
      if (dress === 'page' && value === 'all') return undefined;
      const state = states.find((one) => one === value);
      if (value && !state) throw new HttpError(400, `state must be one of ${states.join(', ')}.`);
      return state ?? (dress === 'page' ? first : undefined);
    },
    query: { state: choice(states) },
    apiQuery: (shown) => (shown ? { state: shown } : {}),
    controls: (_hub, _query, shown) =>
      html`<p class="meta">${choices.map((state) => link(state, state === (shown ?? 'all')))}</p>`,
  };
}

/** A list for administrators alone. */
export function adminList<Item, Key extends keyof Item = 'id' & keyof Item, Filter = undefined>(
  { name, ...declared }: Omit<Declared<Item, Key, Filter, 'admin'>, 'access' | 'page'> & { name: string },
): PagedList<Item, Filter, RequestFor<'admin'>> {
  return pagedList<Item, Key, Filter, 'admin'>({
    api: `/api/admin/${name}`, ...declared, access: 'admin', page: `/admin/${name}`, offersDownloads: true,
  });
}

/** The items as `row` shows each. */
export function each<Item>(row: (item: Item, times: Times) => Html, look = '') {
  return (items: Item[], times: Times): Html =>
    html`<ul class="items ${look}">${items.map((item) => row(item, times))}</ul>`;
}
