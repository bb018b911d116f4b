import { inBatches } from '../../platform/db/batched-writes.ts';
import { choice, listOf, noted, PAGE, text, type Shape, type Shapes } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { nextLink, readLimit, readPage, STANDARD_LIMIT } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { emptyText, nextPage } from '../../platform/http/page-parts.ts';
import { inChunks, json, page, type Reply } from '../../platform/http/reply.ts';
import { timesOf, type Times } from '../../platform/http/times.ts';
import type { HubRequest, Operation } from '../../platform/http/router.ts';
import { schemasOf, type Endpoint } from './acts.ts';
import type { Hub } from './hub.ts';

type Dress = 'page' | 'api';

type ListFilter<Filter> = {
  /** Reads the list's filter from the URL, or throws 400. A page without a query string may list less than the API. */
  read(query: URLSearchParams, dress: Dress): Filter;
  /** The filter's parameters, for the description of the API. */
  query: Shapes;
  /** Links or a form below the page's title. `problem`: the error of a field of the filter. */
  controls(hub: Hub, query: URLSearchParams, filter: Filter | undefined, problem?: HttpError): Html;
  /** The API query for the items that the page shows, if it differs from the page's own. */
  apiQuery?(filter: Filter): Record<string, string>;
};

type Definition<Item, Key extends keyof Item, Filter> = {
  name: string; // the last part of the address of the list's page, /admin/NAME
  api?: `/api/${string}`; // default: /api/admin/NAME
  title: string;
  summary: string; // of the list in the API
  key: readonly Key[];
  /** Reads the next `limit` items after the item whose key columns are `after`, in the order of the list. */
  select(hub: Hub, after: Pick<Item, Key> | undefined, limit: number, filter: Filter): Item[];
  filter?: ListFilter<Filter>;
  shape: Shape<object, Item>;
  csv?: CsvColumns<Item>; // without these, the list is exported as JSON lines only
  lead?(hub: Hub): Html; // introduces the list, below the page's title
  above?(hub: Hub): Html | false; // above the items, such as a form that creates one
  refreshSeconds?(items: Item[]): number | undefined; // until the page reloads; undefined: never
  view(items: Item[], times: Times): Html;
  empty: string; // shown if the list has no items
  more?: string; // the label of the link to the next page; default: 'Older'
};

type FormAnswer = { above: Html; status?: number };

/** A list that only administrators see, as a page, in the API and to download; `app/frame/admin-lists.ts` names all. */
export type AdminList = {
  name: string;
  title: string;
  routes: Endpoint[];
  showPage(hub: Hub, request: HubRequest, answer?: FormAnswer): Reply;
};

export function adminList<Item, Key extends keyof Item = 'id' & keyof Item, Filter = undefined>(
  list: Definition<Item, Key, Filter>,
): AdminList {
  const { name, title, summary, api = `/api/admin/${name}` } = list;
  return {
    name, title,
    routes: [
      {
        pattern: `GET ${api}`, access: 'admin', summary, operation: operationOf(list),
        handler: (hub, request) => answerApi(list, hub, request),
      },
      {
        pattern: `GET /admin/${name}`, access: 'admin', summary: `Page: ${title.toLowerCase()}`,
        handler: (hub, request) => showPage(list, hub, request),
      },
    ],
    showPage: (hub, request, answer) => showPage(list, hub, request, answer),
  };
}

function operationOf<Item, Key extends keyof Item, Filter>(
  { shape, filter, csv }: Definition<Item, Key, Filter>,
): Operation {
  const description = 'json returns one page, other formats all matching rows; jsonl has one JSON object per line';
  const format = noted(choice(['json', 'jsonl', ...(csv ? ['csv'] : [])]), { default: 'json', description });
  return {
    query: schemasOf({ ...PAGE, ...filter?.query, format }),
    answers: {
      200: {
        'application/json': listOf(shape).schema, 'application/x-ndjson': text.schema,
        ...(csv && { 'text/csv': text.schema }),
      },
    },
  };
}

function answerApi<Item, Key extends keyof Item, Filter>(
  list: Definition<Item, Key, Filter>, hub: Hub, { path, query }: HubRequest,
): Reply {
  const filter = readFilter(list, query, 'api');
  const format = query.get('format') ?? 'json';
  if (format !== 'json') return download(list, hub, filter, format);
  const { items, next } = listed(list, hub, query, filter);
  return json({ items: items.map(list.shape.show), next }, 200, nextLink(path, query, next));
}

function download<Item, Key extends keyof Item, Filter>(
  { name, select, shape, csv }: Definition<Item, Key, Filter>, hub: Hub, filter: Filter, format: string,
): Reply {
  const items = inBatches((last: Item | undefined) => select(hub, last, BATCH, filter));
  const file = (type: string, lines: Iterable<string>): Reply => {
    const headers = { 'content-type': type, 'content-disposition': `attachment; filename="${name}.${format}"` };
    return { status: 200, headers, body: inChunks(lines), secret: null };
  };
  if (csv && format === 'csv') return file('text/csv; charset=utf-8', csvLines(items, csv));
  if (format === 'jsonl') {
    return file('application/x-ndjson; charset=utf-8', items.map((item) => `${JSON.stringify(shape.show(item))}\n`));
  }
  throw new HttpError(400, `format must be one of json, jsonl${csv ? ', csv' : ''}.`);
}

function showPage<Item, Key extends keyof Item, Filter>(
  list: Definition<Item, Key, Filter>, hub: Hub, { query, viewer }: HubRequest, answer?: FormAnswer,
): Reply {
  const { name, api = `/api/admin/${name}`, title, lead, above, view, empty, more = 'Older' } = list;
  const { filter, problem } = filterOfForm(list, query);
  const { items, next } = problem ? { items: [], next: null }
    : listed(list, hub, query, filter as Filter, Math.min(readLimit(query), STANDARD_LIMIT));
  const following = next && `/admin/${name}?${withChange(query, 'cursor', next)}`;
  const asked = list.filter?.apiQuery ? new URLSearchParams(list.filter.apiQuery(filter as Filter)) : query;
  const bar = html`<h1>${title}</h1>`;
  const main = html`
<header class="page-head">
  ${lead?.(hub)}
  ${list.filter?.controls(hub, query, filter, problem)}
</header>
${answer?.above ?? above?.(hub)}
${items.length > 0 ? view(items, timesOf(hub, viewer)) : !problem && emptyText(empty)}
${nextPage(following, more)}
${items.length > 0 && downloads(api, asked, list.csv ? ['csv', 'jsonl'] : ['jsonl'])}`;
  const refreshSeconds = list.refreshSeconds?.(items);
  const again = refreshSeconds === undefined ? {} : { refreshSeconds };
  return page({ title, bar, main, section: `admin/${name}`, ...again }, answer?.status ?? problem?.status);
}

const FORMATS = { csv: 'CSV', jsonl: 'JSON lines' };

function downloads(api: string, query: URLSearchParams, formats: (keyof typeof FORMATS)[]): Html {
  return html`
<p class="actions"><span>Download all matching items:</span>
  ${formats.map((format) => html`
  <a href="${api}?${withChange(query, 'format', format)}">${FORMATS[format]}</a>`)}</p>`;
}

function withChange(query: URLSearchParams, name: string, value: string): string {
  const kept = [...query].filter(([one, content]) => one !== 'cursor' && one !== name && content);
  return new URLSearchParams([...kept, [name, value]]).toString();
}

function readFilter<Filter>(list: { filter?: ListFilter<Filter> }, query: URLSearchParams, dress: Dress): Filter {
  return list.filter?.read(query, dress) as Filter;
}

function filterOfForm<Filter>(
  list: { filter?: ListFilter<Filter> }, query: URLSearchParams,
): { filter?: Filter; problem?: HttpError } {
  try {
    return { filter: readFilter(list, query, 'page') };
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.errors.length === 0) throw problem;
    return { problem };
  }
}

function listed<Item, Key extends keyof Item, Filter>(
  { key, select }: Definition<Item, Key, Filter>, hub: Hub, query: URLSearchParams, filter: Filter, limit?: number,
) {
  return readPage<Item, Key>(query, key,
    (after, count) => select(hub, after as Pick<Item, Key>, count, filter), limit);
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

const BATCH = 500;

type CsvColumns<Item> = Record<string, (item: Item) => string | number | null>;

/** The lines of a CSV file with a header line (RFC 4180). */
function* csvLines<Item>(items: Iterable<Item>, columns: CsvColumns<Item>): Generator<string> {
  yield csvLine(Object.keys(columns));
  for (const item of items) yield csvLine(Object.values(columns).map((valueOf) => valueOf(item)));
}

function csvLine(fields: (string | number | null)[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** Puts an apostrophe before a text that a spreadsheet would read as a formula (OWASP, "CSV Injection"). */
function csvField(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
