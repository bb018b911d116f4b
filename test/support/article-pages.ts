/** A post as a feed announces it, and its page. */
export const ARTICLE_POST = {
  url: 'https://news.example/2026/harbour', title: 'Harbour reopens after the storm',
  teaser: 'Ferries to the islands sail again every hour, said the harbour master. Engineers want to raise the wall.',
};

/** Three paragraphs, one on each line. */
export const PROSE = [
  '<p>The harbour opened again on Friday, three weeks after the storm had broken its northern wall in two places.</p>',
  '<p>Ferries to the islands sail every hour, said the harbour master, and the fish market opens on Monday.</p>',
  '<p>Engineers want to raise the wall by two metres, for which the council has set aside money until next summer.</p>',
].join('\n');

/** A page of a newspaper with the usual things around its article. */
export function pageWith(article: string, title = 'News'): string {
  return `<!DOCTYPE html><html><head><title>${title}</title></head><body>
    <header><nav><a href="/">Home</a> <a href="/politics">Politics</a></nav></header>
    <div class="page"><article class="story-body"><h1>${title}</h1>${article}<div class="share-buttons"><a href="/s">Share</a></div>
    </article><div class="sidebar"><h2>Popular</h2><ul><li><a href="/1">A popular article of another day</a></ul></div>
    <div id="comments"><p>I think that this comment, which is long, is not a part of the article at all.</p></div></div>
    <footer><p>All rights reserved, by the publisher of this newspaper, in every country</p></footer></body></html>`;
}
