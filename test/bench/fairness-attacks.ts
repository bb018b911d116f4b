import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

/**
 * node fairness-attacks.ts <attack> <port> <cookie> <source> <milliseconds>: what one member or visitor does to a hub
 * for so long, as hard as it can. Prints `ready` when it begins. Runs as a process of its own, after all others: who
 * attacks from elsewhere takes none of the hub's processors. What is sent is made once, for the same reason.
 */
const [name = '', port = '', cookie = '', source = '', milliseconds = '0'] = process.argv.slice(2);
const MEBIBYTE = 1024 * 1024;
const BODY = Buffer.alloc(MEBIBYTE - 1, 0x20);
const agent = new Agent({ keepAlive: true });
const HEAD_OF_MEBIBYTE = Buffer.from(`POST /api/webhooks/999999 HTTP/1.1\r\nHost: localhost\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${MEBIBYTE + 1}\r\n\r\n`);
setPriority(19);
let end = Infinity;

/** Comes from an address that the hub takes for a proxy, which names others. */
const asProxy = new Agent({ keepAlive: true, localAddress: '127.0.0.2' });

/** The beginnings of the words of `hostile`: three letters each. */
const BEGINNINGS = Array.from({ length: 40 }, (_, n) => `q${'abcdefgh'[n % 8]}${'vwxyz'[Math.floor(n / 8)]}`);

type Attack = () => Promise<void>;
type Act = () => Promise<void>;

export const ATTACKS: Record<string, Attack> = {
  'OPML with an address of 80,000 dots': () => repeat(1, importing([`http://${'.'.repeat(80_000)}/`])),
  'a feed of 10 MB of 0x92 in windows-1252': () => addFeeds(4, windows1252()),
  'a feed of 2,000 items with 60 images each': () => addFeeds(2, manyImages()),
  '30 posts of 400,000 characters at once': () => repeat(30, writingLongPost()),
  '20 readers of long posts by the API': () => repeat(20, () => get('/api/posts?limit=100')),
  '20 searches': () => repeat(20, () => get('/api/posts?q=common')),
  '100 rules of 20 words with stars, and their previews': async () => {
    await Promise.all([repeat(20, posting('/api/rules/preview', { match: hostile(0) })), repeat(1, writing('a b c '.repeat(2_000)))]);
  },
  '20 saved searches of 20 words with stars': async () => {
    await Promise.all([repeat(20, () => get('/')), repeat(1, writing('a b c '))]); // a new post makes all counts out of date
  },
  'OPML of 3,000 dead hosts': () => repeat(1, importing(deadHosts())),
  '100 images of a post on hosts that hang': async () => {
    const { places, asked } = await imagesThatHang();
    await hold(places.length, () => request({ port, path: places.pop(), headers: { cookie } }).on('error', () => {}).end());
    if (asked.size === 0) throw new Error('none of the hosts that hang was asked');
  },
  '60 uploads left open': () => hold(60, openUpload),
  '1,500 connections with 1 MiB each': () => hold(1_500, openWebhook),
  '100 wrong passwords': () => repeat(10, posting('/api/session', { username: 'ada', password: 'wrong password' })),
  'eight feeds of 10 MiB at once': () => addFeeds(8, largeFeed()),
  '100 readers of the longest draft who read nothing': async () => {
    await saveLongestDraft();
    await hold(100, () => openPage('/write'));
  },
  'readers of the longest draft who go at once': async () => {
    await saveLongestDraft();
    await repeat(20, async () => {
      const page = openPage('/write');
      page.once('connect', () => page.destroy());
      await sleep(5);
    });
  },
  'a feed that is not kept, 12 times a second': () => repeat(12, async () => {
    await visit('/posts.atom', '203.0.113.1');
    await sleep(1_000);
  }),
  'a feed that is not kept, from one address': () => repeat(16, () => visit('/posts.atom', '203.0.113.1')),
  'a feed that is not kept, from 100 IPv6 /64s of four /48s': async () => {
    await Promise.all(Array.from({ length: 100 }, (_, n) => repeat(1, () => visit('/posts.atom', networkOf(n)))));
  },
  'floods of health and metrics': () => repeat(32, async () => {
    await visit('/api/health', '203.0.113.1');
    await visit('/api/metrics', networkOf(1));
  }),
  '10 exports of an account': () => repeat(10, () => get('/api/account/export')),
  '10 edits of a long post at once': async () => {
    const id = await addLongPost();
    await repeat(10, editing(id));
  },
};

/** What an attack needs before it begins. */
const PREPARATIONS: Record<string, Act> = {
  '100 rules of 20 words with stars, and their previews': async () => {
    await writePrefixes();
    for (let n = 0; n < 100; n++) await posting('/api/rules', { match: hostile(n), act: 'mute' })();
  },
  '20 saved searches of 20 words with stars': async () => {
    await writePrefixes();
    for (let n = 0; n < 20; n++) await posting('/api/searches', { q: hostile(n) })();
  },
};

await PREPARATIONS[name]?.();
end = performance.now() + Number(milliseconds);
process.stdout.write('ready\n');
await ATTACKS[name]?.();
process.exit();

/** So many at once, one after the other each, until the time is over. */
async function repeat(atOnce: number, act: Act): Promise<void> {
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (performance.now() < end) await act().catch(() => sleep(50));
  }));
}

/** Opens so many within about two seconds: more at once overflow the loopback device, and nothing measures the hub. */
async function hold(count: number, open: () => { destroy(): void }): Promise<void> {
  const sockets: { destroy(): void }[] = [];
  while (sockets.length < count) {
    sockets.push(open());
    if (sockets.length % 15 === 0) await sleep(20);
  }
  await sleep(Math.max(0, end - performance.now()));
  sockets.forEach((socket) => socket.destroy());
}

async function addFeeds(atOnce: number, feed: Feed): Promise<void> {
  const base = await origin(feed);
  let n = 0;
  await repeat(atOnce, () => posting('/api/sources', { kind: 'feed', url: `${base}/${process.pid}-${n++}` })());
}

function importing(urls: string[]): Act {
  const outlines = urls.map((url) => `<outline type="rss" text="a" xmlUrl="${url}"/>`).join('');
  const body = Buffer.from(`<opml version="2.0"><head/><body>${outlines}</body></opml>`);
  return () => send('POST', '/api/sources/import', { ...browser(), 'content-type': 'text/x-opml' }, body);
}

/** Addresses of this machine where nobody listens, or whose answer never comes. */
function deadHosts(): string[] {
  return Array.from({ length: 3_000 }, (_, n) => `http://127.9.${n >> 8}.${n & 255}:9/feed`);
}

function writingLongPost(): Act {
  const content = '<p>some <b>bold</b> text</p>'.repeat(400_000 / 28);
  return posting('/api/posts', { sourceId: Number(source), title: 'Long', content, contentType: 'text/html' });
}

async function addLongPost(): Promise<number> {
  const body = JSON.stringify({ sourceId: Number(source), title: 'Long', content: '<p>text</p>', contentType: 'text/html' });
  const headers = { ...browser(), 'content-type': 'application/json' };
  const made = await fetch(`http://127.0.0.1:${port}/api/posts`, { method: 'POST', headers, body });
  return ((await made.json()) as { id: number }).id;
}

function editing(id: number): Act {
  const body = Buffer.from(JSON.stringify({ content: '<p>some <b>bold</b> text</p>'.repeat(400_000 / 28) }));
  return () => send('PATCH', `/api/posts/${id}`, { ...browser(), 'content-type': 'application/json' }, body);
}

/** 25 /64s of each of four /48s, in five /56s. */
function networkOf(n: number): string {
  return `2001:db8:${n & 3}:${(n >> 2) % 5}${(n >> 2).toString(16).padStart(2, '0')}::1`;
}

/** Asks as a visitor from that address, with a parameter that nobody has asked for yet. */
function visit(path: string, address: string): Promise<void> {
  return send('GET', `${path}?x=${Math.random()}`, { 'x-forwarded-for': address }, undefined, asProxy);
}

/** An expression of 20 words, 19 of which stand for the beginnings of very many words. */
function hostile(n: number): string {
  const stars = Array.from({ length: 19 }, (_, at) => `${BEGINNINGS[(n + at) % BEGINNINGS.length]}*`);
  return `${stars.join(' OR ')} -zz${n}`;
}

/** Posts whose words are as many different words as possible, which begin as those of `hostile`. */
async function writePrefixes(): Promise<void> {
  for (let post = 0; post < 10; post++) {
    const word = (_: unknown, n: number): string => `${BEGINNINGS[n % BEGINNINGS.length]}${post.toString(36)}${n.toString(36)}`;
    await writing(Array.from({ length: 25_000 }, word).join(' '))();
  }
}

function writing(content: string): Act {
  return posting('/api/posts', { sourceId: Number(source), title: 'A post', content, contentType: 'text/plain' });
}

function openUpload() {
  const boundary = 'xxxxxxxxxxxxxxxx';
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': 20 * MEBIBYTE };
  const req = request({ port, path: '/api/posts', method: 'POST', headers: { ...browser(), ...headers } });
  req.on('error', () => {});
  req.write(`--${boundary}\r\nContent-Disposition: form-data; name="attachments"; filename="a.txt"\r\n\r\n`);
  req.write('a'.repeat(MEBIBYTE));
  return req;
}

/**
 * The hub's addresses of the images of a new post, each on another host, which takes connections and says nothing; and
 * the hosts that were asked, of which the hub allows a source few at a time.
 */
async function imagesThatHang(): Promise<{ places: string[]; asked: Set<string | undefined> }> {
  const asked = new Set<string | undefined>();
  const silent = createServer(({ headers: { host } }) => void asked.add(host)).listen(0, '0.0.0.0');
  await once(silent, 'listening');
  const at = (silent.address() as AddressInfo).port;
  const images = Array.from({ length: 100 }, (_, n) => `&lt;img src="http://127.8.0.${n + 1}:${at}/i.png"&gt;`);
  const url = await origin(feedOf(1, images.join('')));
  const hub = `http://127.0.0.1:${port}`;
  const headers = { ...browser(), 'content-type': 'application/json' };
  const body = JSON.stringify({ kind: 'feed', url });
  const added = await fetch(`${hub}/api/sources`, { method: 'POST', headers, body });
  if (added.status !== 201) throw new Error(`the feed was refused: ${added.status} ${await added.text()}`);
  const { id } = await added.json() as { id: number };
  const shown = await (await fetch(`${hub}/api/posts?source=${id}`, { headers: { cookie } })).json();
  const { items: [post] } = shown as { items: { contentHtml: string }[] };
  const places = [...post?.contentHtml.matchAll(/src="[^"]*(\/attachments\/[^"]+)"/g) ?? []].map(([, place = '']) => place);
  if (places.length !== 100) throw new Error(`${places.length} images`);
  return { places, asked };
}

function openWebhook() {
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  socket.write(HEAD_OF_MEBIBYTE);
  socket.write(BODY);
  return socket;
}

/** Kept, since the form is refused: it has no title. */
async function saveLongestDraft(): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ sourceId: source, title: '', content: `&<"'`.repeat(475_000) })) {
    form.append(name, value);
  }
  const { status } = await fetch(`http://127.0.0.1:${port}/write`, { method: 'POST', headers: browser(), body: form });
  if (status !== 422) throw new Error(`the draft was answered with ${status}`);
}

/** Asks for a page and reads nothing. */
function openPage(path: string) {
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {}).pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\n\r\n`);
  return socket;
}

function get(path: string): Promise<void> {
  return send('GET', path, {});
}

function posting(path: string, value: object): Act {
  const body = Buffer.from(JSON.stringify(value));
  return () => send('POST', path, { ...browser(), 'content-type': 'application/json' }, body);
}

async function send(
  method: string, path: string, headers: Record<string, string>, body?: Buffer, through = agent,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const length = body && { 'content-length': body.length };
  const req = request({ agent: through, host: '127.0.0.1', port, method, path, headers: { ...headers, ...length } }, (res) => {
    res.resume().once('close', resolve);
  });
  req.once('error', reject).end(body);
  return promise;
}

function browser(): Record<string, string> {
  return { cookie, 'sec-fetch-site': 'same-origin' };
}

/** What an origin answers, whatever is asked. */
type Feed = { headers: Record<string, string>; body: Buffer };

async function origin({ headers, body }: Feed): Promise<string> {
  const server = createServer((_req, res) => res.writeHead(200, headers).end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function windows1252(): Feed {
  const head = Buffer.from('<?xml version="1.0" encoding="windows-1252"?><rss version="2.0"><channel><title>');
  const bytes = Buffer.concat([head, Buffer.alloc(9 * MEBIBYTE, 0x92), Buffer.from('</title></channel></rss>')]);
  const headers = { 'content-type': 'application/rss+xml; charset=windows-1252', 'content-encoding': 'gzip' };
  return { headers, body: gzipSync(bytes) };
}

function manyImages(): Feed {
  return feedOf(2_000, '&lt;img src="https://example.org/1.png" alt="x"&gt;'.repeat(60));
}

function largeFeed(): Feed {
  return feedOf(2_400, '&lt;p&gt;some text of a feed&lt;/p&gt; '.repeat(100));
}

function feedOf(items: number, content: string): Feed {
  const item = (n: number): string =>
    `<item><guid>${n}</guid><title>Item ${n}</title><description>${content}</description></item>`;
  const all = Array.from({ length: items }, (_, n) => item(n)).join('');
  const body = `<?xml version="1.0"?><rss version="2.0"><channel><title>A feed</title>${all}</channel></rss>`;
  return { headers: { 'content-type': 'application/rss+xml' }, body: Buffer.from(body) };
}
