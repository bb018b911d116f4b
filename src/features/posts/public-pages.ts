import { html, type Html } from '../../platform/http/html.ts';
import { emptyText, nextPage } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { accounts } from '../accounts/account-store.ts';
import { largePictures } from '../attachments/post-pictures.ts';
import type { Hub } from '../hub/hub.ts';
import { faultOfSearch, type FaultPlace } from './expression.ts';
import { faultShown, HELP_PATH, hintShown, searchedLine } from './expression-views.ts';
import { foundTexts, markFound, readFound, type Found } from './mark-found.ts';
import type { Post } from './post-store.ts';
import { ALTERNATES, languageOf, titleOf } from './post-views.ts';
import { queryPosts } from './query-posts.ts';

const BESIDE = 3;

const SUMMARY_LENGTH = 140; // characters

/** Page of the public posts, or of a search in them, newest first; visitors see it at `/`. */
export function showPublic(hub: Hub, req: HubRequest): Reply {
  const [isFirstPage, typed] = [!req.query.get('cursor'), req.query.get('q')];
  const fault = faultOfSearch(typed ?? '', { hasStates: false });
  const { items, next, searchedTo } = fault ? { items: [], next: null, searchedTo: null }
    : queryPosts(hub, { ...req, viewer: null });
  const words = readFound(typed ?? '');
  const found = { words, texts: words.wanted.length > 0 ? foundTexts(hub, items, words) : new Map<number, string>() };
  const pictures = largePictures(hub, items.slice(0, 1 + BESIDE));
  const empty = items.length === 0 && !fault && nothingText(hub, req.viewer, { isFirstPage, typed });
  const shown = { items, next, searchedTo, isFirstPage, typed, fault, found, pictures, empty };
  return page(publicPage(shown, timesOf(hub, req.viewer)));
}

type Shown = {
  items: Post[];
  next: string | null;
  searchedTo: number | null;
  isFirstPage: boolean;
  typed: string | null;
  fault: FaultPlace | undefined;
  found: { words: Found; texts: Map<number, string> };
  pictures: Map<number, Html>;
  empty: Html | false;
};

function publicPage(shown: Shown, times: Times): Page {
  const { items, next, searchedTo, isFirstPage, typed } = shown;
  const top = isFirstPage && typed === null ? 1 + BESIDE : 0;
  const [first, ...beside] = items.slice(0, top);
  const river = items.slice(top);
  const older = new URLSearchParams({ ...(typed && { q: typed }), cursor: next ?? '' });
  const main = html`
${typed !== null && searchForm(typed)}
${first && html`${story(first, shown, times, 'first')}
<div class="second">${beside.map((post) => story(post, shown, times))}</div>`}
${river.length > 0 && html`
<section class="river" aria-labelledby="river"><h2 id="river">${
  typed ? 'Search results' : isFirstPage ? 'Newest' : 'Older posts'}</h2>
${river.map((post) => story(post, shown, times))}</section>`}
${shown.fault ? faultShown(typed ?? '', shown.fault) : hintShown(typed ?? '')}
${shown.empty && searchedTo === null && emptyText(shown.empty)}
${searchedTo !== null && searchedLine(times, searchedTo, { isEmpty: items.length === 0, isEnd: next === null })}
${nextPage(next && `/public?${older.toString()}`, searchedTo === null ? 'Older posts' : 'Search on')}`;
  const title = typed ? `${typed} – search` : 'Newest posts';
  return { title, main, shape: 'landing', section: 'posts', alternates: ALTERNATES };
}

function searchForm(typed: string): Html {
  return html`
<form role="search" class="search" action="/public"><input type="search" name="q" value="${typed}"
  placeholder="Search posts" aria-label="Search posts" maxlength="200"><button>Search</button></form>`;
}

type Asked = Pick<Shown, 'isFirstPage' | 'typed'>;

function nothingText(hub: Hub, viewer: Viewer | null, { isFirstPage, typed }: Asked): Html {
  if (typed) {
    return html`No post matches this search. <a href="/public">All posts</a> <a href="${HELP_PATH}">How to search</a>`;
  }
  if (!isFirstPage) return html`There are no older posts. <a href="/public">Newest posts</a>`;
  if (accounts(hub).list(0, 1).length === 0) {
    return html`Nobody has an account here yet. Is this your hub? The link for the first one is in its log.`;
  }
  return viewer ? html`Nothing is public yet. <a href="/write">Write the first post</a>`
    : html`Nothing is public here yet. People read feeds and write on this hub; what they make public appears here. <a
href="/sign-in">Sign in</a>`;
}

function story(post: Post, { found, pictures }: Shown, times: Times, kind = ''): Html {
  const { id, sourceId, sourceTitle, publishedAt } = post;
  const { title, rest } = titleOf(post, kind === 'first' ? 300 : SUMMARY_LENGTH);
  const text = found.texts.get(id) ?? rest;
  const language = languageOf(post);
  const link = html`<a href="/posts/${id}">${markFound(title, found.words)}</a>`;
  return html`
<article class="story ${kind}" dir="auto">${pictures.get(id)}<p class="from"><a class="who"
  href="/sources/${sourceId}"><span dir="auto">${sourceTitle}</span></a>${showTime(times, publishedAt)}</p>
${kind === 'first' ? html`<h2 ${language}>${link}</h2>` : html`<h3 ${language}>${link}</h3>`}
${text && html`<p class="sum" dir="auto" ${language}>${markFound(text, found.words)}</p>`}</article>`;
}
