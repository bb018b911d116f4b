// Protects readers from unsafe and tracking addresses in links, images and frames.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../../../src/platform/markup/in-steps.ts';
import { webAddress } from '../../../src/platform/markup/safe-url.ts';
import { sanitizingHtml } from '../../../src/platform/markup/sanitize-html.ts';
import { assertCases, clean, link, sanitizeHtml, TAIL } from '../../support/sanitized-markup.ts';

const image = (href: string, text: string, about = '') => `<a href="${href}" class="remote-image"${about}${TAIL}>${text}</a>`;

test('links are absolute, of four schemes, without credentials and tracking, and say nothing about us', () => {
  assertCases([
    ['<a href="../x?a=1&amp;b=2#c">y</a>', link('https://blog.example/x?a=1&amp;b=2#c', 'y')],
    ['<a href="//other.example">y</a>', link('https://other.example/', 'y')],
    ['<a href=" HT\nTPS://Other.Example/\u0000 ">y</a>', link('https://other.example/', 'y')],
    ['<a href="https://me:secret@other.example/">y</a>', link('https://other.example/', 'y')],
    ['<a href="/x?utm_source=a&id=1&UTM_Medium=b&fbclid=c&q=%20&gclid=d">y</a>',
      link('https://blog.example/x?id=1&amp;q=%20', 'y')],
    ['<a href="/x?fbclid=c#d">y</a>', link('https://blog.example/x#d', 'y')],
    ['<a href="mailto:a@b.example?subject=x y">y</a>', link('mailto:a@b.example?subject=x%20y', 'y')],
    ['<a href="tel:+49-30-1">y</a>', link('tel:+49-30-1', 'y')],
    ['<a href=/1 HREF=/2>y</a>', link('https://blog.example/1', 'y')],
    ['<a href="javascript:x">y</a><a href="data:,x">z</a><a name=w>w</a>', 'yzw'],
    ['<a href=/x title=" a\n b " hreflang=de target=_top>y</a>',
      `<a href="https://blog.example/x" title="a b" hreflang="de"${TAIL}>y</a>`],
    [`<a href="/${'x'.repeat(5_000)}">y</a>`, 'y'],
    ['<blockquote cite="/x">a</blockquote><q cite="javascript:x">b</q>',
      '<blockquote cite="https://blog.example/x">a</blockquote><q>b</q>'],
  ]);
});

test('an address is what the URL parser says, also where it looks as if nothing had to be changed', () => {
  const hosts = ['example.org', 'a-b.example', 'EXAMPLE.org', 'xn--bcher-kva.example', '1.2.3.4', 'a..b', '-a.org', 'a.b9', 'localhost'];
  const ends = ['/', '/a/~b/c.d', '/a/', '//a', '/./a', '/a/../b', '/a/.b', '/%2e/a', '/a*', '/a?1', '/a?b', '/a#', ':80/a', ':81/a', '/é', ''];
  for (const host of hosts) {
    for (const end of ends) {
      const address = `https://${host}${end}`;
      assert.equal(webAddress(address, ''), URL.parse(address)?.href, address);
    }
  }
  assert.equal(webAddress('https://example.org/a?utm_source=1', ''), 'https://example.org/a');
});

test('links lose the parameters of more trackers, and a ref that names the site of the post', () => {
  assertCases([
    ['<a href="/x?fb_ref=1&a=2&YSCLID=3&guccounter=1">y</a>', link('https://blog.example/x?a=2', 'y')],
    ['<a href="https://x.example/?ref=blog.example">y</a>', link('https://x.example/', 'y')],
    ['<a href="https://x.example/?ref=www.Blog.example#z">y</a>', link('https://x.example/#z', 'y')],
    ['<a href="https://x.example/?ref=main&q=utm_source">y</a>', link('https://x.example/?ref=main&amp;q=utm_source', 'y')],
    ['<a href="/foo.jpg?crop/1420x708/format/webp">y</a>', link('https://blog.example/foo.jpg?crop/1420x708/format/webp', 'y')],
  ]);
});

test('without a usable base, relative links lose their address and absolute ones keep it', () => {
  const result = sanitizeHtml('<a href="/x">a</a><a href="https://x.example/">b</a>', { baseUrl: '' });

  assert.equal(result, `a${link('https://x.example/', 'b')}`);
});

test('a link without words gets some, unless it only marks a place', () => {
  assertCases([
    ['<a href="https://x.example:8080/y"><svg>z</svg></a>', link('https://x.example:8080/y', 'x.example:8080')],
    ['<a href="/y" aria-label="Read on"><i class=icon></i></a>', link('https://blog.example/y', 'Read on')],
    ['<a href="mailto:a@b.example?x=y"></a>', link('mailto:a@b.example?x=y', 'a@b.example')],
    ['<h2>Title<a href="#title"></a></h2>', '<h2>Title</h2>'],
    ['a <a href="mailto:"></a>b', 'a b'],
  ]);
});

test('an image becomes a link to its largest file', () => {
  assertCases([
    ['<img src="/a.jpg" alt=" A &quot;cat&quot; ">', image('https://blog.example/a.jpg', 'A &quot;cat&quot;')],
    ['<img src="/b/my%20cat.jpg?w=1">', image('https://blog.example/b/my%20cat.jpg?w=1', 'my cat.jpg')],
    ['<img src="/image/12">', image('https://blog.example/image/12', 'Image')],
    ['<img src="/image/12" alt=" ">', image('https://blog.example/image/12', 'Image', ' data-alt=""')],
    ['<img src="/s.jpg" srcset="/a.jpg 320w, /b.jpg 1280w,/c,d.jpg 640w" alt=x>',
      image('https://blog.example/b.jpg', 'x')],
    ['<img src="/s.jpg" srcset="/a.jpg, /b.jpg 2x, /c.jpg 2x" alt=x>', image('https://blog.example/b.jpg', 'x')],
    ['<img src="data:image/gif;base64,R0" data-src="/lazy.jpg" alt=x>', image('https://blog.example/lazy.jpg', 'x')],
    ['<img src="/tiny.jpg" data-original="/big.jpg" alt=x>', image('https://blog.example/big.jpg', 'x')],
    ['<img data-srcset="/a.jpg 100w,\n/b.jpg 200w" alt=x>', image('https://blog.example/b.jpg', 'x')],
    ['<picture><source srcset="/l.webp 2000w"><img src="/s.jpg" alt=x></picture>',
      image('https://blog.example/l.webp', 'x')],
    ['<img src="data:image/png;base64,AAAA" alt=x> <img aria-label=y><img src="">', 'x y'],
    ['<img src=/a.jpg alt=x><img src=/b.jpg alt=y>',
      `${image('https://blog.example/a.jpg', 'x')} ${image('https://blog.example/b.jpg', 'y')}`],
    ['<img class="wp-smiley" src="https://s.w.example/1f600.png" alt="😀">', '😀'],
    ['<table><img src=/a.jpg alt=x></table>',
      `<table><tr><td>${image('https://blog.example/a.jpg', 'x')}</td></tr></table>`],
  ]);
});

test('an image in a link follows that link, and lends it its words where it has none', () => {
  const cat = image('https://blog.example/cat.jpg', 'cat.jpg');
  const again = image('https://blog.example/cat.jpg', 'Linked image');
  assertCases([
    ['<a href="/x">text <img src="/cat.jpg" alt=cat></a>',
      `${link('https://blog.example/x', 'text ')} ${image('https://blog.example/cat.jpg', 'cat')}`],
    ['<a href="/x"><img src="/cat.jpg" alt=cat></a>', `${link('https://blog.example/x', 'cat')} ${again}`],
    ['<a href="/x"><img src="/cat.jpg"></a>', `${link('https://blog.example/x', 'blog.example')} ${again}`],
    ['<p><a href="/x">a<img src="/cat.jpg"><div>b</div></a></p>',
      `<p>${link('https://blog.example/x', 'a')} ${cat}</p>${link('https://blog.example/x', '<div>b</div>')}`],
    ['<a href="#x"><img src="/cat.jpg"></a>', cat],
    ['<a><img src="/cat.jpg"></a>', cat],
    ['<p><a href="/x"><div><img src="/cat.jpg" alt=cat></div></a>',
      `\n${link('https://blog.example/x', '\ncat')} ${again}`],
  ]);
});

test('images that count readers vanish', () => {
  const trackers = [
    '<img src="/p.gif" width=1 height=1>', '<img src="/p.gif" width="0" height="0">',
    '<img src="/p.gif" style="width:1px; height:1px">',
    '<img src="/p.gif" style="border:0;display:none">', '<img src="https://pixel.wp.com/b.gif?x">',
    '<img src="https://ad.doubleclick.net/x">',
    '<img src="http://feeds.feedburner.com/~r/blog/~4/abc">', '<img src="https://www.facebook.com/tr?id=1" alt="">',
    '<iframe src="https://www.googletagmanager.com/ns.html" height=0></iframe>',
    '<img src="https://medium.com/_/stat?event=post.clientViewed">',
    '<iframe src="https://ad.doubleclick.net/x" width=300 height=250 title=x></iframe>', '<img src="data:," width=1 alt=x>',
  ];
  for (const tracker of trackers) assert.equal(clean(`a${tracker}b`), 'ab', tracker);
  assert.match(clean('<img src="/a.png" style="border-width:0;line-height:1;max-height:0" width=10 height=10>'),
    /remote-image/);
});

test('no image counts readers by its name alone, or in what members write', () => {
  const images = [
    '<img src="https://stats.other.example/x">', '<img src="https://pixel2.example/storage/a.jpg">', '<img src="/img/pixel.gif">',
    '<img src="https://pixel.wp.com/b.gif" alt="A bar chart">', '<img src="https://counter.yadro.ru/x" width=88 height=31>',
  ];
  for (const written of images) assert.match(clean(written), /remote-image/, written);
  const own = atOnce(sanitizingHtml('<img src="https://pixel.wp.com/b.gif" width=1>', { baseUrl: '', isOwn: true }));
  assert.match(own, /remote-image/);
});

test('films, sounds and frames become links to what they show', () => {
  assertCases([
    ['<video src="/a.mp4" title="A film">no video</video>', link('https://blog.example/a.mp4', 'A film')],
    ['<audio controls><source src="/a.ogg"><source src="/a.mp3">no audio</audio>', link('https://blog.example/a.ogg',
      'a.ogg')],
    ['<iframe src="https://www.youtube-nocookie.com/embed/abc_DEF-123?rel=0" title="Talk">x</iframe>',
      link('https://www.youtube.com/watch?v=abc_DEF-123', 'Talk')],
    ['<iframe src="//player.example/1"></iframe>', link('https://player.example/1', 'player.example')],
    ['<object><param name=a><embed src="https://player.example/2"></object>', link('https://player.example/2',
      'player.example')],
    ['<iframe src="javascript:x"></iframe><iframe srcdoc="x"></iframe><video></video>', ''],
  ]);
});
