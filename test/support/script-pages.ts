import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { lessLikeThis } from '../../src/features/reading/list-views.ts';
import { listen } from './ports.ts';
import { PROJECT_ROOT } from './run-program.ts';

/** The script of members' pages, as it is served. */
export const SCRIPT = readFileSync(join(PROJECT_ROOT, 'src/app/frame/assets/hub.js'), 'utf8');

/** The script of the pages on which members write posts. */
export const WRITE_SCRIPT = readFileSync(join(PROJECT_ROOT, 'src/app/frame/assets/write.js'), 'utf8');

const HASH = `sha256-${createHash('sha256').update(SCRIPT).digest('base64')}`;
const POLICY = `default-src 'none'; form-action 'self'; connect-src 'self'; script-src '${HASH}'`;
/** Ends as a count does, and is a pattern in which text is replaced. */
const LIST = 'Notes $& (7)';
const POSTS = Array.from({ length: 30 }, (_, index) => index + 1);

type Pages = {
  address: string;
  /** What was sent: method, path and body. */
  sent: string[];
  read: Set<number>;
  starred: Set<number>;
  /** From now on. */
  answers: { status: number; fresh: number; keys: 'on' | 'off'; held?: Promise<void> };
};

/** Pages with the markup of lists and posts and nothing else, where the script can be watched by itself. */
export async function startScriptPages(t: TestContext): Promise<Pages> {
  const [read, starred] = [new Set<number>(), new Set<number>()];
  const answers: Pages['answers'] = { status: 204, fresh: 0, keys: 'on' };
  const pages: Pages = { address: '', sent: [], read, starred, answers };
  const server = createServer((req, res) => void answer(pages, req, res));
  pages.address = `http://127.0.0.1:${await listen(t, server)}`;
  return pages;
}

async function answer(pages: Pages, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { pathname: path, searchParams: query } = new URL(req.url ?? '/', 'http://h');
  if (path === '/hub.js') return void res.writeHead(200, { 'content-type': 'text/javascript' }).end(SCRIPT);
  if (path === '/favicon.ico') return void res.writeHead(204).end();
  const body = await text(req);
  if (path !== '/') pages.sent.push(`${req.method} ${req.url} ${body}`.trim());
  const { read, starred, answers } = pages;
  if (req.method === 'POST') {
    await answers.held;
    const [, id = '', act = ''] = /^\/posts\/(\d+)\/(read|star)$/.exec(path) ?? [];
    const marked = act === 'read' ? read : starred;
    const isOn = new URLSearchParams(body).get(act) === '1';
    if (answers.status < 300) marked[isOn ? 'add' : 'delete'](Number(id));
    return void res.writeHead(answers.status).end();
  }
  if (path === '/reading/fresh') return json(res, answers.status, { fresh: answers.fresh });
  if (path === '/reading/now') {
    const asked = (query.get('posts') ?? '').split(',').map(Number);
    const those = (marked: Set<number>): number[] => asked.filter((id) => marked.has(id));
    const counts = { all: String(30 - read.size), ...(starred.size > 0 && { starred: String(starred.size) }) };
    return json(res, answers.status, { read: those(read), starred: those(starred), counts });
  }
  const id = Number(/^\/unread\/posts\/(\d+)$/.exec(path)?.[1] ?? 0);
  if (id > 0) read.add(id);
  const headers = {
    'content-type': 'text/html; charset=utf-8', 'cache-control': 'private, no-cache', 'content-security-policy': POLICY,
  };
  const main = id > 0 ? post(pages, id) : path === '/' ? listOf(pages) : `<h1>${path}</h1>`;
  const title = path === '/' ? `${LIST} (${30 - read.size})` : path;
  res.writeHead(200, headers).end(document(pages, title, main));
}

function json(res: ServerResponse, status: number, value: object): void {
  res.writeHead(status === 204 ? 200 : status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function document({ answers, starred, read }: Pages, title: string, main: string): string {
  return `<!doctype html><html lang="en"><head><title>${title} · Hub</title>
<script src="/hub.js" integrity="${HASH}" defer></script></head><body data-keys="${answers.keys}">
<nav aria-label="Main"><a href="/">Unread <span data-count="all">${30 - read.size}<span> unread</span></span></a>
<a href="/starred">Starred <span data-count="starred" ${starred.size ? '' : 'hidden'}>${starred.size}</span></a></nav>
<form id="state" method="post"></form><div class="page">${main}</div>
<div id="failed" popover>That could not be saved.</div>
<dialog id="help" aria-label="Keys"><form method="dialog"><button>Close</button></form></dialog>
</body></html>`;
}

function stateButtons({ read, starred }: Pages, id: number): string {
  const [isRead, isStarred] = [read.has(id), starred.has(id)];
  return `<button class="seen" form="state" formaction="/posts/${id}/read" name="read" value="${isRead ? 0 : 1}"
  aria-pressed="${isRead}" aria-label="Read">•</button><button class="star" form="state" formaction="/posts/${id}/star"
  name="star" value="${isStarred ? 0 : 1}" aria-pressed="${isStarred}" aria-label="Star">*</button>`;
}

function listOf(pages: Pages): string {
  const row = (id: number): string => `<li class="row ${pages.read.has(id) ? 'read' : ''}" id="post-${id}" data-id="${id}"><h3><a href="/unread/posts/${id}">Post ${id}</a></h3>
  <a data-original href="/original/${id}">original</a>${stateButtons(pages, id)}<details><summary>More</summary>${lessLikeThis(id).markup}</details><p>line<br>line</p></li>`;
  return `<header class="bar"><h1><span>${LIST}</span>
<span data-count="all">${30 - pages.read.size}<span> unread</span></span></h1></header>
<main><form role="search" action="/"><input type="search" name="q" aria-label="Search"><button>Search</button></form>
<details class="drop"><summary>Mark read</summary><form id="mark" method="post" action="/reading/mark-read"><button>All</button></form></details>
<a class="fresh" href="/" hidden><span data-n="1">One new post.</span><span data-n="n"><b data-number></b> new posts.</span></a>
<div id="list" data-view="kind=unread" data-newest="30"><ol class="rows">${POSTS.map(row).join('')}</ol></div></main>`;
}

function post(pages: Pages, id: number): string {
  return `<a rel="up" href="/">Unread</a> <a rel="prev" href="/unread/posts/${id - 1}">before</a>
<a rel="next" href="/unread/posts/${id + 1}">after</a> <a data-next-unread href="/unread/posts/${id + 1}">next unread</a>
<a data-original href="/original/${id}">original</a>${stateButtons(pages, id)}
<main><h1>Post ${id}</h1>${'<p>A paragraph of this post.</p>'.repeat(60)}</main>`;
}
