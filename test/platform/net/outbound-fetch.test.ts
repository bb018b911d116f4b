// Protects every outbound request: which addresses, names, ports and certificates it may meet.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { createOutboundFetch, type OutboundFetch } from '../../../src/platform/net/outbound-fetch.ts';
import type { Lookup } from '../../../src/platform/net/outbound-target.ts';
import { fakeLookup } from '../../support/fake-lookup.ts';
import { hasIpv6Loopback, reply, startOrigin, startRawOrigin } from '../../support/origin.ts';
import { failure, openFetch } from '../../support/outbound.ts';
import { makeSelfSigned } from '../../support/self-signed.ts';

const UNUSED: Lookup = () => assert.fail('no name was to be looked up');

function closedFetch(lookup: Lookup = UNUSED): OutboundFetch {
  return createOutboundFetch({ userAgent: 'Hub/1', allow: [], lookup, totalMs: 5_000 });
}

test('an allowed origin is asked with honest headers and its answer comes back whole', async (t) => {
  const origin = await startOrigin(t, { '/feed?x=%C3%A4': reply(200, { etag: '"1"' }, '<rss/>') });

  const response = await openFetch()({
    url: `${origin.url}/feed?x=ä#part`,
    headers: {
      'accept': 'application/rss+xml', 'If-None-Match': '"0"', 'authorization': 'Bearer x', 'Cookie': 'a=b',
      'Host': 'other.example', 'Proxy-Authorization': 'Basic x', 'User-Agent': 'Mozilla/5.0',
    },
    maxBytes: 100,
  });

  assert.equal(response.status, 200);
  assert.equal(response.url, `${origin.url}/feed?x=%C3%A4`);
  assert.equal(response.body.toString(), '<rss/>');
  assert.equal(response.headers.etag, '"1"');
  assert.equal(response.movedPermanentlyTo, null);
  assert.deepEqual(origin.requests.map(({ method, headers }) => ({ method, headers })), [{
    method: 'GET',
    headers: {
      'user-agent': 'Hub/1 (+https://hub.example)', 'accept': 'application/rss+xml', 'if-none-match': '"0"',
      'accept-encoding': 'gzip, br, zstd, deflate', 'host': `127.0.0.1:${origin.port}`, 'connection': 'close',
    },
  }]);
});

test('an origin on IPv6 is fetched', { skip: !hasIpv6Loopback() && 'this machine has no ::1' }, async (t) => {
  const origin = await startOrigin(t, reply(200, {}, 'six'), { host: '::1' });
  const { lookup } = fakeLookup({ 'six.example': ['::1'] });

  assert.equal((await openFetch()({ url: origin.url, maxBytes: 9 })).body.toString(), 'six');
  assert.equal((await openFetch({ lookup })({ url: `http://six.example:${origin.port}`, maxBytes: 9 })).status, 200);
  const hosts = origin.requests.map(({ headers }) => headers.host);
  assert.deepEqual(hosts, [`[::1]:${origin.port}`, `six.example:${origin.port}`]);
  assert.equal((await failure(closedFetch()({ url: origin.url, maxBytes: 9 }))).reason, 'blocked');
});

test('no way to write a loopback or private address gets to a connection', async (t) => {
  const origin = await startRawOrigin(t, (socket) => socket.destroy());
  const hosts = [
    '127.0.0.1', '2130706433', '0x7f000001', '0177.0.0.1', '017700000001', '127.1', '0', '127.0.0.1.',
    '①②⑦.⓪.⓪.①', '127。0。0。1', '127.0.0.1%2e', '0x7f.1', '0.0.0.0', '[::1]', '[::]', '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[::ffff:0:127.0.0.1]', '10.0.0.1',
    '169.254.169.254', '[fd00:ec2::254]', '100.100.100.200',
  ];

  for (const host of hosts) {
    const error = await failure(closedFetch()({ url: `http://${host}:${origin.port}/`, maxBytes: 9 }));
    assert.equal(error.reason, 'blocked', host);
  }
  assert.equal(origin.connections(), 0);
});

test('a URL that is malformed, of another scheme or with credentials is refused', async () => {
  const urls = [
    '', 'feed', '/feed', 'http://', 'http://256.256.256.256/', 'http://4294967296/', 'http://08.0.0.1/', 'http://%00/',
    'http://1.2.3.4.5/', 'http://[fe80::1%25eth0]/', 'ftp://example.com/', 'file:///etc/passwd', 'data:,x',
    'javascript:1', 'http://1.1.1.1@127.0.0.1/', 'http://user:secret@example.com/', 'https://:secret@example.com/',
  ];
  for (const url of urls) {
    const error = await failure(closedFetch()({ url, maxBytes: 9 }));
    assert.equal(error.reason, 'bad-url', url);
    assert.doesNotMatch(error.message, /secret|passwd/);
  }
});

test('a name is judged by what it resolves to, also localhost and metadata names', async (t) => {
  const origin = await startRawOrigin(t, (socket) => socket.destroy());
  const { lookup, asked } = fakeLookup({
    'localhost': ['127.0.0.1', '::1'], 'localhost.': ['127.0.0.1'], 'metadata.google.internal': ['169.254.169.254'],
    'mixed.example': ['1.1.1.1', '127.0.0.1'], 'zone.example': ['fe80::1%lo'], 'example.com': ['10.0.0.1'],
  });
  const names = ['ⓛocalhost', 'localhost.', 'metadata.google.internal', 'mixed.example', 'zone.example'];

  for (const name of names) {
    const error = await failure(closedFetch(lookup)({ url: `http://${name}:${origin.port}/?token=hush`, maxBytes: 9 }));
    assert.equal(error.reason, 'blocked', name);
    assert.doesNotMatch(error.message, /hush|127\.0|169\.254/, 'neither the query nor what the name resolved to');
  }
  const misleading = `http://example.com\\@127.0.0.1:${origin.port}/`;
  const backslash = await failure(closedFetch(lookup)({ url: misleading, maxBytes: 9 }));
  assert.match(backslash.message, /^example\.com does not have a public address; an operator can allow other addresses with OUTBOUND_ALLOW$/);
  assert.deepEqual(asked.slice(0, 4), ['localhost', 'localhost.', 'metadata.google.internal', 'mixed.example']);
  assert.equal(origin.connections(), 0);
});

test('OUTBOUND_ALLOW opens its range and no other', async (t) => {
  const origin = await startOrigin(t, reply(200, {}, 'ok'));
  const fetch = createOutboundFetch({ userAgent: 'Hub/1', allow: parseCidrs('127.0.0.1/32'), lookup: UNUSED });

  assert.equal((await fetch({ url: origin.url, maxBytes: 9 })).status, 200);
  for (const host of ['127.0.0.2', '[::1]', '10.0.0.1', '[64:ff9b::7f00:1]']) {
    assert.equal((await failure(fetch({ url: `http://${host}:${origin.port}`, maxBytes: 9 }))).reason, 'blocked', host);
  }
});

test('ports of other protocols are refused unless the address is allowed', async () => {
  const { lookup } = fakeLookup({ 'mail.example': ['1.1.1.1'], 'local.example': ['127.0.0.1'] });
  for (const port of [0, 1, 22, 25, 81, 1023, 2049, 6000, 6667, 10080]) {
    const error = await failure(openFetch({ lookup })({ url: `http://mail.example:${port}/`, maxBytes: 9 }));
    assert.equal(error.reason, 'blocked', String(port));
    assert.match(error.message, new RegExp(`port ${port},`));
  }
  const error = await failure(openFetch({ lookup })({ url: 'http://local.example:1/', maxBytes: 9 }));
  assert.equal(error.reason, 'connect');
});

test('a name is asked once per connection, so that a second answer cannot move it', async (t) => {
  const origin = await startOrigin(t, reply(200, {}, 'pinned'));
  const answers = ['127.0.0.1', '10.0.0.1'];
  const lookup: Lookup = (_name, _options, callback) => callback(null, [{ address: answers.shift() ?? '', family: 4 }]);
  const fetch = openFetch({ lookup });

  const response = await fetch({ url: `http://rebind.example:${origin.port}/`, maxBytes: 9 });
  assert.equal(response.body.toString(), 'pinned');
  assert.equal(answers.length, 1);
  assert.equal(origin.requests[0]?.headers.host, `rebind.example:${origin.port}`);

  assert.equal((await failure(fetch({ url: `http://rebind.example:${origin.port}/`, maxBytes: 9 }))).reason, 'blocked');
});

test('an address that does not answer does not hide one that does', async (t) => {
  const origin = await startOrigin(t, reply(200, {}, 'ok'));
  const { lookup } = fakeLookup({ 'two.example': ['127.0.0.2', '127.0.0.1'] });

  assert.equal((await openFetch({ lookup })({ url: `http://two.example:${origin.port}/`, maxBytes: 9 })).status, 200);
});

test('a name that cannot be found, or never is, fails as dns', async () => {
  const fetch = createOutboundFetch({ userAgent: 'Hub/1', allow: [], lookup: () => {}, dnsMs: 50 });
  const { lookup } = fakeLookup({ 'empty.example': [] });

  assert.equal((await failure(fetch({ url: 'http://slow.example/', maxBytes: 9 }))).reason, 'dns');
  for (const name of ['gone', 'empty']) {
    const error = await failure(closedFetch(lookup)({ url: `http://${name}.example/?key=hush`, maxBytes: 9 }));
    assert.equal(error.reason, 'dns');
    assert.match(error.message, new RegExp(`^could not look up ${name}\\.example \\(`));
  }
});

test('a port where nobody listens fails as connect', async (t) => {
  const origin = await startRawOrigin(t, () => {});
  await origin.close();

  const error = await failure(openFetch()({ url: `${origin.url}/?key=hush`, maxBytes: 9 }));
  assert.equal(error.reason, 'connect');
  assert.equal(error.message, `could not connect to 127.0.0.1:${origin.port} (ECONNREFUSED)`);
});

test('a certificate that nobody vouches for, or for another name, is refused', async (t) => {
  const known = makeSelfSigned('feeds.example');
  trust(t, known.cert);
  const { lookup } = fakeLookup({ 'feeds.example': ['127.0.0.1'], 'other.example': ['127.0.0.1'] });
  const unknown = await startOrigin(t, reply(200, {}, 'no'), { tls: makeSelfSigned('127.0.0.1') });
  const trusted = await startOrigin(t, reply(200, {}, 'yes'), { tls: known });

  const selfSigned = await failure(openFetch()({ url: unknown.url, maxBytes: 9 }));
  assert.equal(selfSigned.reason, 'tls');
  assert.match(selfSigned.message, /the certificate is self-signed$/);
  const wrongName = await failure(openFetch({ lookup })({ url: `https://other.example:${trusted.port}`, maxBytes: 9 }));
  assert.match(wrongName.message, /^no secure connection to other\.example:\d+: the certificate is for another host name$/);
  assert.equal((await openFetch({ lookup })({ url: `https://feeds.example:${trusted.port}`, maxBytes: 9 })).status, 200);
  assert.deepEqual([unknown.requests.length, trusted.requests.length], [0, 1]);
});

test('plain HTTP behind an https URL fails as tls', async (t) => {
  const origin = await startOrigin(t, reply(200, {}, 'plain'));

  assert.equal((await failure(openFetch()({ url: origin.url.replace('http:', 'https:'), maxBytes: 9 }))).reason, 'tls');
});

test('neither a proxy nor lax certificate checks come in from the environment', async (t) => {
  const origin = await startOrigin(t, reply(200, {}, 'direct'));
  const secure = await startOrigin(t, reply(200, {}, 'no'), { tls: makeSelfSigned('127.0.0.1') });
  const proxy = await startRawOrigin(t, (socket) => socket.destroy());
  const script = `
    import { createOutboundFetch } from '${new URL('../../../src/platform/net/outbound-fetch.ts', import.meta.url)}';
    import { parseCidrs } from '${new URL('../../../src/platform/net/address-guard.ts', import.meta.url)}';
    const fetch = createOutboundFetch({ userAgent: 'Hub/1', allow: parseCidrs('127.0.0.1') });
    for (const url of process.argv.slice(1)) {
      console.log(await fetch({ url, maxBytes: 99 }).then((r) => r.body.toString(), (e) => e.reason));
    }`;
  const env = {
    NODE_USE_ENV_PROXY: '1', NODE_TLS_REJECT_UNAUTHORIZED: '0',
    HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, http_proxy: proxy.url, https_proxy: proxy.url,
  };

  const args = ['--input-type=module', '-e', script, origin.url, secure.url];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  assert.deepEqual(stdout.trim().split('\n'), ['direct', 'tls']);
  assert.equal(proxy.connections(), 0);
});

function trust(t: { after: (restore: () => void) => void }, cert: string): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  t.after(() => setDefaultCACertificates(before));
}
