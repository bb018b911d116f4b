import { html, type Html } from '../../platform/http/html.ts';
import { hiddenInput, postForm, tickBox } from '../../platform/http/page-parts.ts';
import { plural } from '../../platform/in-words.ts';
import { plainText } from '../../platform/markup/plain-text.ts';
import { withoutImages } from '../../platform/markup/remote-media.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import type { Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { languageOf } from '../posts/post-views.ts';
import type { FullTextOffer } from './ask-for-full-text.ts';
import { shortReason } from './explain-full-text.ts';
import { READY } from './fetch-full-text.ts';
import { fullTexts } from './full-text-store.ts';
import type { ShownText } from './show-full-text.ts';
import { sourceFullTexts, type ResultCount } from './source-full-text-store.ts';

/** Says which text of a post is shown, with a button for the other if there can be one. `from`: the page's address. */
export function textSwitch({ post, which, wanted, fullText }: ShownText<{ id: number }>, from: string): Html {
  const shown = html`<span class="tag">${which === 'full' ? 'Full text' : 'As in the feed'}</span>`;
  const why = wanted === 'full' && which === 'feed' ? fullText.explanation : undefined;
  const status = why && html`<span role="status" tabindex="-1">No full text. ${why}</span>`;
  if (wanted === 'full' && fullText.state === 'waiting') {
    return html`<div class="text-switch" data-waiting>${shown}<span role="status"
  tabindex="-1">The hub is fetching the full text.</span></div>`;
  }
  if (why && fullText.reason !== 'robots') return html`<div class="text-switch">${shown}${status}</div>`;
  const [other, label] = which === 'full' ? ['feed', 'As in the feed'] : ['full', 'Full text'];
  return postForm(`/posts/${post.id}/full-text`, html`${hiddenInput('from', from)}${shown}${status}`,
    html`<button class="link" name="text" value="${other}">${label}</button>`, 'text-switch');
}

/** Offers a source's owner full texts for all new posts, or says that the hub is still comparing posts. */
export function offerPanel(hub: Hub, sourceId: number, offer: FullTextOffer | null): Html | false {
  if (!offer) return false;
  if (offer.why === 'comparing') {
    return html`<p class="said full-text-offer" role="status">Comparing three posts with their pages, to see whether the
feed has the full text.</p>`;
  }
  return html`
<section class="panel full-text-offer" aria-labelledby="full-text-offer"><h2 id="full-text-offer">Always fetch the full
text?</h2>
${offer.why !== 'teasers' ? html`<p>Readers have opened it several times. The hub can fetch it for each new post.</p>`
    : html`<p>This feed seems to send only beginnings. The hub can fetch the rest of each new post from its page.</p>${
      sideBySide(hub, offer.postId)}`}
${postForm(`/sources/${sourceId}/full-text`, LAST_POSTS_BOX, html`
  <div class="actions"><button name="fullText" value="always">Always fetch the full text</button>
    <button class="secondary" name="fullText" value="asked" form="no-full-text">No, thanks</button></div>`)}
<form method="post" action="/sources/${sourceId}/full-text" id="no-full-text" hidden></form></section>`;
}

const LAST_POSTS_BOX = tickBox(undefined, 'fullTextOfLast', 'The last 20 posts, too', false);

/** A preview has at most PREVIEW characters, made from the first PREVIEW_MARKUP characters of a text's markup. */
const PREVIEW_MARKUP = 8_000;
const PREVIEW = 600;

function sideBySide(hub: Hub, postId: number): Html | false {
  const post = posts(hub).find(postId);
  const text = fullTexts(hub).contentOf(postId);
  if (!post || text === undefined) return false;
  const column = (name: string, markup: string): Html => html`
<div><h3>${name}</h3><p dir="auto" ${languageOf(post)}>${
  excerpt(plainText(withoutImages(markup.slice(0, PREVIEW_MARKUP))), PREVIEW)}</p></div>`;
  return html`<p>For example: <a href="/posts/${postId}?text=full" dir="auto">${post.title}</a></p>
<div class="two-texts">${column('As in the feed', post.contentHtml)}${column('Full text', text)}</div>`;
}

/** The choice whether a source always has full texts, and how past fetches went. */
export function fullTextSettings(hub: Hub, sourceId: number): Html {
  const { isAlways } = sourceFullTexts(hub).find(sourceId);
  return html`
${postForm(`/sources/${sourceId}/full-text`, html`${hiddenInput('fullText', 'asked')}
  <label class="check"><input type="checkbox" name="fullText" value="always" ${isAlways === 1 && html`checked`}> Fetch
    the full text of each new post</label>
  ${LAST_POSTS_BOX}`, 'Save')}
<p>${resultsText(sourceFullTexts(hub).results(sourceId))}</p>`;
}

/** Counts of fetched pages as a sentence: "The hub fetched 7 pages, and found 5 full texts; paywall 2." */
export function resultsText(results: ResultCount[]): string {
  const worked = results.find(({ reason }) => reason === READY)?.n ?? 0;
  const others = results.filter(({ reason }) => reason !== READY);
  if (results.length === 0) return 'The hub has fetched no full text yet.';
  const all = others.reduce((sum, { n }) => sum + n, worked);
  const why = others.map(({ reason, n }) => `${shortReason(reason)} ${n}`).join(', ');
  return `The hub fetched ${plural(all, 'page')}, and found ${plural(worked, 'full text')}${why && `; ${why}`}.`;
}
