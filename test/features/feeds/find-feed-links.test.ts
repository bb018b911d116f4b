// Protects the discovery of a page's feeds, in time that grows with the page alone.
import assert from 'node:assert/strict';
import test from 'node:test';
import { findFeedAnchors, findFeedLinks, isHtmlPage } from '../../../src/features/feeds/page-links.ts';
import { growthOf, repeated } from '../../support/growth.ts';

const PAGE = 'https://example.org/blog/post.html';

test('links that are no feeds are left out', () => {
  const html = `
    <link rel="stylesheet" type="text/css" href="a.css">
    <link rel="alternate stylesheet" type="application/rss+xml" href="b">
    <link rel="alternate" hreflang="de" href="/de">
    <link rel="alternate" type="application/json+oembed" href="/oembed">
    <link rel="alternate" type="application/json" href="/wp-json/wp/v2/posts/1">
    <link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">
    <link rel="alternate" type="application/rss+xml" href="">
    <link rel="alternate" type="application/rss+xml" href="/${'x'.repeat(4_097)}">
    <linkx rel="alternate" type="application/rss+xml" href="c">
    <a rel="alternate" type="application/rss+xml" href="d">`;
  assert.deepEqual(findFeedLinks(html, PAGE), []);
});

test('no feed link carries credentials', () => {
  const html = '<link rel=feed href="https://bank.example:pw@evil.example/feed">';
  assert.deepEqual(findFeedLinks(html, PAGE), [{ url: 'https://evil.example/feed', title: null, format: null }]);
});

test('a long title of a link is shortened', () => {
  const [long] = findFeedLinks(`<link rel=feed href=/f title="${'Owls '.repeat(500)}">`, PAGE);
  assert.match(long?.title ?? '', /^Owls .{50,95}$/);
});

test('links in comments, scripts, styles and other text are not links of the page', () => {
  const link = '<link rel="alternate" type="application/rss+xml" href="/hidden">';
  const html = `<!-- ${link} --><script>"${link}"</script><style>${link}</style><title>${link}</title>
    <textarea>${link}</textarea><template>${link}</template>
    <link rel="feed" href="/seen" data-note="a > b"><script>${link}`;
  assert.deepEqual(findFeedLinks(html, PAGE), [{ url: 'https://example.org/seen', title: null, format: null }]);
});

test('a page of unfinished tags is read in time proportional to its length', () => {
  for (const piece of ['<link a="', "<link '", '<style>', '<!--', '<script ', '<link ', '<base href=', '<a ', '<meta ', '<a href=/rss>']) {
    const growth = growthOf((page) => (findFeedLinks(page, PAGE), findFeedAnchors(page, PAGE)), (length) => repeated(piece, length));
    assert.ok(growth < 2, `${piece} takes ${growth.toFixed(1)} times as many steps per character`);
  }
});

test('pages are told from feeds by how they begin', () => {
  for (const page of [
    '<!DOCTYPE html><html>', '\ufeff \n<html lang="en">', '<?xml version="1.0"?>\n<!-- x --><!DOCTYPE html PUBLIC "x">',
    '<head><title>Document Moved</title>', '<script>1</script>', '<!-- a --><!-- b --><body>',
  ]) assert.equal(isHtmlPage(page), true, page);
  for (const other of ['<?xml version="1.0"?><rss>', '<feed>', '{"version":"x"}', '', 'html', '<!-- open', '<htmlx>']) {
    assert.equal(isHtmlPage(other), false, other);
  }
});

test('of a page that names feeds without end the first thousand are looked at', () => {
  const page = `<html><head>${'<link rel="alternate" type="application/rss+xml" href="/f?">'.repeat(3_000)
    .replace(/\?/g, (_, at: number) => String(at))}`;
  assert.equal(findFeedLinks(page, 'https://a.test/').length, 1_000);
});
