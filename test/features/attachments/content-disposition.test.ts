// Protects the header that names a download: the same name for all clients, and no way to end the header.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { contentDisposition } from '../../../src/platform/http/headers.ts';
import { randomBelow as numbers } from '../../support/random.ts';

const attachment = (name: string): string => contentDisposition('attachment', name);

test('a name is sent in ASCII, and again whole where that changed it; nothing in it ends the header or names a folder', () => {
  const cases: [name: string, sent: string][] = [
    ['Annual report (2).pdf', '"Annual report (2).pdf"'], ["it's; a=b,c.png", '"it\'s; a=b,c.png"'],
    ['naïve Größe.txt', `"naive Gro_e.txt"; filename*=UTF-8''na%C3%AFve%20Gr%C3%B6%C3%9Fe.txt`],
    ['漢字😀.md', `"___.md"; filename*=UTF-8''%E6%BC%A2%E5%AD%97%F0%9F%98%80.md`],
    ['a"b%41.txt', `"a_b_41.txt"; filename*=UTF-8''a%22b%2541.txt`], // clients read these in different ways
    ["ä'()*.txt", `"a'()*.txt"; filename*=UTF-8''%C3%A4%27%28%29%2A.txt`],
    ['a\r\nX-Evil: 1', '"a__X-Evil: 1"'], ['../a\\b\0\x7f\x85', '".._a_b___"'],
    ['"; a=b', `"_; a=b"; filename*=UTF-8''%22%3B%20a%3Db`], ['a\ud83d.txt', `"a_.txt"; filename*=UTF-8''a%EF%BF%BD.txt`],
  ];
  for (const [name, sent] of cases) assert.equal(attachment(name), `attachment; filename=${sent}`);
  assert.deepEqual([attachment(''), contentDisposition('inline', 'a.png')], ['attachment', 'inline; filename="a.png"']);
});

// The second part is ext-value of RFC 8187 §3.2.1.
const FORM = /^attachment; filename="([ -!#-$&-\[\]-~]*)"(?:; filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[0-9A-F]{2})+))?$/;

test('whatever the name, the header has one form, arrives over HTTP and gives the name back', async (t) => {
  const below = numbers(8187);
  const codePoint = () => [below(256), below(0x800), 0xd800 + below(0x800), below(0x110000)][below(4)] ?? 0;
  const character = () => String.fromCodePoint(codePoint());
  const names = Array.from({ length: 300 }, () => Array.from({ length: 1 + below(12) }, character).join(''));
  const server = createServer((req, res) => {
    res.setHeader('content-disposition', attachment(names[Number(req.url?.slice(1))] ?? '')).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());

  for (const [index, name] of names.entries()) {
    const header = await headerOf((server.address() as AddressInfo).port, index);
    const found = FORM.exec(header);
    const wanted = name.toWellFormed().replace(/[\p{Cc}/\\]/gu, '_');
    assert.equal(found?.[2] === undefined ? found?.[1] : decodeURIComponent(found[2]), wanted, JSON.stringify(name));
  }
});

async function headerOf(port: number, index: number): Promise<string> {
  const asked = request({ port, path: `/${index}` });
  asked.end();
  const [response] = await once(asked, 'response') as [IncomingMessage];
  response.resume();
  return response.headers['content-disposition'] ?? '';
}
