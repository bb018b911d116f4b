// Protects images in posts: shown from the hub alone, and no markup comes in with them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preparePost } from '../../../src/features/posts/ingest-posts.ts';
import type { IncomingPost } from '../../../src/features/posts/post-store.ts';
import { imageAddresses, showImages } from '../../../src/platform/markup/remote-media.ts';
import { growthOf, repeated } from '../../support/growth.ts';
import { HOSTILE_MARKUP } from '../../support/hostile-markup.ts';
import { randomMarkup } from '../../support/random-markup.ts';
import { assertSanitised, sanitizeHtml } from '../../support/sanitized-markup.ts';

const sanitize = (markup: string): string => sanitizeHtml(markup, { baseUrl: 'https://blog.test/post' });

/** As the hub does it: each image by its place in the list. */
const numbered = (sanitized: string) => {
  const addresses = imageAddresses(sanitized);
  return showImages(sanitized, (url) => {
    const place = addresses.indexOf(url);
    return place === -1 ? undefined : { address: `/attachments/${place}/i.png` };
  });
};

const VALUE = '(?:[^"<>&\']|&(?:amp|lt|gt|quot|#39);)*';
const IMAGE = new RegExp(
  `<img src="/attachments/\\d+/i\\.png" alt="${VALUE}"(?: title="${VALUE}")? loading="lazy">`, 'g');

/** Fails unless it is sanitised markup but for images that are loaded from the hub. */
function assertOnlyImagesMore(markup: string, context: string): number {
  const found = markup.match(IMAGE) ?? [];
  assertSanitised(markup.replace(IMAGE, 'image'), context);
  assert.equal(markup.match(/<img/g)?.length ?? 0, found.length, context);
  return found.length;
}

test('an image in a post becomes one that is loaded from the hub, with its words and in its place', () => {
  const sanitized = sanitize('<p>Before <img src="/owl.png" alt="An owl"> after</p>');

  assert.deepEqual(imageAddresses(sanitized), ['https://blog.test/owl.png']);
  assert.equal(showImages(sanitized, () => ({ address: '/attachments/1/owl.png' })),
    '<p>Before <img src="/attachments/1/owl.png" alt="An owl" loading="lazy"> after</p>');
});

test('the title of an image stays, on a page also as text for touch screens, unless it says nothing new', () => {
  const joke = '<img src="/owl.png" alt="An owl" title=" Owls &amp;\n &quot;hats&quot; " width=90 height=80>';
  const shown = (markup: string, size?: null): string => showImages(sanitize(markup), () => ({ address: '/a', size }));

  assert.equal(shown(joke), '<img src="/a" alt="An owl" title="Owls &amp; &quot;hats&quot;" loading="lazy">');
  assert.equal(shown(joke, null),
    '<img src="/a" alt="An owl" title="Owls &amp; &quot;hats&quot;" width="90" height="80" loading="lazy">'
    + '<span class="picture-title" aria-hidden="true">Owls &amp; &quot;hats&quot;</span>');
  for (const title of ['An owl', 'owl', 'OWL.png', ' ']) {
    assert.doesNotMatch(shown(`<img src="/o/owl.png" alt="An owl" title="${title}">`, null), /title/, title);
  }
  const sanitized = sanitize(joke);
  assert.equal(sanitize(sanitized), sanitized);
  assert.equal(shown(`<img src="/owl.png" title="${'x '.repeat(900)}">`).match(/title="([^"]*)"/)?.[1]?.length, 1_000);
});

test('the same image twice is one address; images that the hub does not know stay links', () => {
  const sanitized = sanitize('<img src="/a.png"><img src="/b.png"><img src="/a.png?x=1&amp;y=2"><img src="/a.png">');
  const [a, b, query] = ['https://blog.test/a.png', 'https://blog.test/b.png', 'https://blog.test/a.png?x=1&y=2'];

  assert.deepEqual(imageAddresses(sanitized), [a, b, query]);
  const shown = showImages(sanitized, (url) => (url === b ? undefined : { address: '/attachments/1/a' }));
  assert.equal(shown.match(/<img /g)?.length, 3);
  assert.equal(shown.match(/<a href="https:\/\/blog\.test\/b\.png" class="remote-image"/g)?.length, 1);
  assert.equal(showImages(sanitized, () => undefined), sanitized);
});

test('ordinary links, text that looks like markup, and words about images are left alone', () => {
  for (const markup of [
    '<a href="/x">link</a>', '&lt;a href="https://x.test/" class="remote-image"&gt;x&lt;/a&gt;', 'class="remote-image"',
    '<a href="/x" title="class=&quot;remote-image&quot;">x</a>', '<code>&lt;img src=x&gt;</code>', '',
    '<a class="remote-image">no address</a>', '<a class="remote-image" href="javascript:alert(1)">x</a>',
    '<a class="remote-image" href="mailto:a@b.test">x</a>', '<a class="remote-image" href="tel:123">x</a>',
  ]) {
    const sanitized = sanitize(markup);
    assert.deepEqual(imageAddresses(sanitized), [], markup);
    assert.equal(showImages(sanitized, () => ({ address: '/wrong' })), sanitized, markup);
  }
});

test('until its size is known, the one that its publisher states for an image keeps its place', () => {
  const shown = (attributes: string, size: { width: number; height: number } | null = null) =>
    / alt="A"(?: (.*))? loading/.exec(showImages(sanitize(`<img src="/a.png" alt="A" ${attributes}>`), () => ({ address: '/i', size })))?.[1];

  assert.equal(shown('width="640" height="480"'), 'width="640" height="480"');
  assert.equal(shown('width=" 640px " height=480'), 'width="640" height="480"');
  assert.equal(shown('width="640" height="480"', { width: 3, height: 2 }), 'width="3" height="2"');
  assert.equal(shown('width="20" height="30"', { width: 300, height: 600 }), 'width="20" height="40"', 'no wider than stated');
  assert.equal(shown('style="width: 32px; HEIGHT:24px"'), 'width="32" height="24"');
  assert.equal(shown('width="32" style="height:24px;border:0"'), 'width="32" height="24"');
  for (const odd of ['', 'width="640"', 'style="max-width:32px;line-height:24px"', 'style="width:50%;height:24px"',
    'style="width:64000px;height:24px"', 'width="100%" height="480"', 'width="-640" height="480"', 'width="010" height="20"',
    'width="64000" height="480"', 'width="6.4" height="4"', 'width="6&quot; onload=&quot;x" height="4"']) {
    assert.equal(shown(odd), undefined, odd);
  }
  const isSmall = (height: number): boolean =>
    showImages(sanitize(`<img src="/a.png" width="20" height="${height}">`), () => ({ address: '/i', size: null })).endsWith('class="small">');
  assert.deepEqual([isSmall(40), isSmall(41)], [true, false], 'small images stand within a line');
  const sanitized = sanitize('<img src="/a.png" width="640" height="480">');
  assert.equal(sanitize(sanitized), sanitized);
  assert.deepEqual(imageAddresses(sanitized), ['https://blog.test/a.png']);
});

test('hostile words and addresses of images stay words and addresses', () => {
  const labels = [
    '"><script>alert(1)</script>', '\'><script>', '" onerror="alert(1)', '&quot; onload=&quot;x', '&lt;script&gt;', '&',
    '&amp;quot;', '$1 $& $` $\' $$', '</a><script>', '\0\x01', '‮evil', 'x'.repeat(100_000), '`', '&#34;&#x22;&#0;',
  ];
  const addresses = [
    'https://x.test/"><script>alert(1)</script>', "https://x.test/'onerror='x", 'https://x.test/?a=1&b=2&quot;=3',
    'https://x.test/$&$1', 'https://x.test/%22%3E%3Cscript%3E', `https://x.test/${'y'.repeat(3_000)}`,
    '//x.test/"onload="x', 'https://x.test/#"', 'https://ex\u00e4mple.test/\u00e4',
  ];
  for (const label of labels) {
    for (const address of addresses) {
      const attribute = (text: string) => text.replaceAll('"', '&quot;');
      const sanitized = sanitize(`<p><img src="${attribute(address)}" alt="${attribute(label)}">end</p>`);
      const context = `${address.slice(0, 80)} ${label.slice(0, 80)}`;
      assert.equal(imageAddresses(sanitized).length, 1, context);
      assert.ok(imageAddresses(sanitized).every((url) => new URL(url).href === url && /^https?:/.test(url)), context);
      assert.equal(assertOnlyImagesMore(numbered(sanitized), context), 1, context);
      const unquoted = numbered(sanitize(`<img src="${address}" alt="${label}">`));
      assert.ok(assertOnlyImagesMore(unquoted, context) <= 1, context);
    }
  }
});

test('an address of the hub\'s own is written as an attribute too, whatever is in it', () => {
  const sanitized = sanitize('<img src="/a.png" alt="A">');

  assert.equal(showImages(sanitized, () => ({ address: '/attachments/1/"><script>&\'$&' })),
    '<img src="/attachments/1/&quot;&gt;&lt;script&gt;&amp;&#39;$&amp;" alt="A" loading="lazy">');
});

test('images that cannot be loaded from anywhere are no images', () => {
  for (const address of [
    'javascript:alert(1)', 'data:image/png;base64,AA==', 'file:///etc/passwd', 'blob:x', '', ' ', 'about:blank',
    'ftp://x.test/a', 'vbscript:x', 'java\nscript:alert(1)', 'https://',
  ]) {
    const sanitized = sanitize(`<img src="${address}" alt="x">`);
    for (const url of imageAddresses(sanitized)) assert.match(url, /^https:\/\/blog\.test\//, address);
    assertOnlyImagesMore(numbered(sanitized), address);
  }
});

test('of any markup at all only images that are loaded from the hub are added to what the sanitiser lets through', () => {
  let images = 0;
  for (let seed = 0; seed < 20_000; seed++) {
    const markup = `${randomMarkup(seed)}<img src="/${seed}.png" alt='"&lt;${seed}'>${randomMarkup(seed + 1_000_000)}`;
    images += assertOnlyImagesMore(numbered(sanitize(markup)), `seed ${seed}`);
  }
  for (const markup of Object.values(HOSTILE_MARKUP).flat()) {
    images += assertOnlyImagesMore(numbered(sanitize(markup)), markup.slice(0, 200));
  }
  assert.ok(images > 4_000, `${images} images were among it`);
});

test('a long post is read in steps that grow with its length alone, however hostile it is', () => {
  for (const piece of [
    '<a href="', '<a href="https:', '<a href="https:x" class="remote-image"', 'class="remote-image">',
    '<a href="https://x.test/" class="remote-image">x', '<img src=/a>', '"',
  ]) {
    const read = (markup: string): void => {
      numbered(markup);
      showImages(sanitize(markup), () => ({ address: '/x' }));
    };
    const growth = growthOf(read, (length) => repeated(piece, length));
    assert.ok(growth < 2, `${piece}: ${growth.toFixed(1)} times as many steps per character`);
  }
});

test('a summary has the words of a post, and never those of its images', async () => {
  const owl = '<img src="/owl.png" alt="An owl in flight">';
  const summaryOf = async (contentHtml: string): Promise<string | null> => {
    const post: IncomingPost = {
      guid: 'a', title: 'Owls', url: null, author: null, contentHtml: sanitize(contentHtml), baseUrl: 'https://blog.test/',
      summary: null, publishedAt: null, updatedAt: null, language: null, attachments: [],
    };
    return (await preparePost(post, 'hash')).summary;
  };

  assert.equal(await summaryOf(`<p>At dusk.</p><p>${owl}</p><p>Then night fell.</p>`), 'At dusk.\nThen night fell.');
  assert.equal(await summaryOf(`<p>${owl}</p>`), '');
  assert.equal(await summaryOf(`${owl.repeat(400)}<p>At dusk.</p>`), 'At dusk.', 'far behind many images');
});
