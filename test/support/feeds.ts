import type { OriginHandler } from './origin.ts';

export type Item = { guid: string; title?: string; content?: string; date?: string; link?: string; extra?: string };

/** An RSS 2.0 document. */
export function rss(title: string, items: Item[], channel = ''): string {
  const item = ({ guid, title = `Post ${guid}`, content = `<p>Text of ${guid}</p>`, date, link, extra = '' }: Item) => `
    <item><guid isPermaLink="false">${guid}</guid><title>${title}</title>
      <link>${link ?? `https://blog.test/${guid}`}</link>
      <description><![CDATA[${content}]]></description>${date ? `<pubDate>${date}</pubDate>` : ''}${extra}</item>`;
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0"><channel><title>${title}</title><link>https://blog.test/</link><description>About</description>
${channel}
${items.map(item).join('')}</channel></rss>`;
}

export function opml(outlines: string): string {
  return `<?xml version="1.0"?><opml version="2.0"><head/><body>${outlines}</body></opml>`;
}

/** Serves what `document()` returns at the moment. */
export function serving(document: () => string, headers: Record<string, string> = {}): OriginHandler {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/rss+xml', ...headers });
    response.end(document());
  };
}
