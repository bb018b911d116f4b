import { html, type Html } from './html.ts';
import type { Page } from './reply.ts';

/** What stands around every page. */
type Frame = {
  siteName: string;
  stylesheet: string;
  icon: string;
  navigation: { section: string; href: string; label: string }[];
  /** At the end of the navigation: who is signed in. */
  corner: Html;
};

/** A whole HTML document around the page's own part. No scripts, and nothing from elsewhere. */
export function layout(page: Page, frame: Frame): string {
  return html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  ${page.refreshSeconds !== undefined && html`<meta http-equiv="refresh" content="${page.refreshSeconds}">`}
  <title>${page.title} · ${frame.siteName}</title>
  <link rel="stylesheet" href="${frame.stylesheet}">
  <link rel="icon" href="${frame.icon}" type="image/svg+xml">
  ${(page.alternates ?? []).map(alternateLink)}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="site">
  <nav aria-label="Main">
    <a class="brand" href="/">${frame.siteName}</a>
    ${frame.navigation.map((link) => navigationLink(link, page.section))}
    <span class="corner">${frame.corner}</span>
  </nav>
</header>
<main id="main">
${page.main}
</main>
</body>
</html>
`.markup;
}

function alternateLink({ type, href, title }: NonNullable<Page['alternates']>[number]): Html {
  return html`<link rel="alternate" type="${type}" href="${href}" title="${title}">`;
}

function navigationLink({ section, href, label }: Frame['navigation'][number], current: string | undefined): Html {
  return html`<a href="${href}" ${section === current && html`aria-current="page"`}>${label}</a>`;
}
