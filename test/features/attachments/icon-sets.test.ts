// Protects the small icons that come as one picture: whoever may not see a source gets no set with its icon.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { sourceIcons } from '../../../src/features/attachments/icon-store.ts';
import { addFollow, addNotes } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { png, pngChunk } from '../../support/sample-files.ts';

const icon = (name: string, bytes = 0): Buffer =>
  png({ width: 16, height: 16 }, pngChunk('tEXt', Buffer.from(name.padEnd(bytes))));

function giveIcon({ handle }: Hub, sourceId: number, content: Buffer): void {
  const sha256 = createHash('sha256').update(content).digest('hex');
  sourceIcons(handle).noteNamed(sourceId, 'https://example.org/icon.png');
  sourceIcons(handle).keep(sourceId, { sha256, mediaType: 'image/png', content });
}

/** The addresses of icons in the page of all sources, by source id, without those of letters. */
async function addressesOf(client: Client): Promise<string[]> {
  const { text } = await client.page('/all');
  return [...new Set([...text.matchAll(/<img class="favicon" src="([^"]+)"/g)].map(([, address = '']) => address))];
}

async function hubWithIcons(t: Parameters<typeof hubWith>[0], icons: Buffer[]) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const ids: number[] = [];
  for (const content of icons) {
    const id = await addNotes(ada, `Notes ${ids.length}`, 'public');
    await addFollow(ada, id);
    await addFollow(bob, id);
    giveIcon(hub, id, content);
    ids.push(id);
  }
  return { hub, ada, bob, ids };
}

test('small icons of a page come as one picture that a browser keeps; a large one comes by itself', async (t) => {
  const icons = [icon('a'), icon('b'), icon('c', 600)];
  const { ada, ids: [a, b, c] } = await hubWithIcons(t, icons);
  const [first = '', second = '', third = ''] = await addressesOf(ada);
  assert.match(third, new RegExp(`^/icons/${c}-`));
  const [set, fragment] = first.split('#');
  assert.deepEqual([fragment, second], [String(a), `${set}#${b}`]);

  const answer = await ada.get(set ?? '');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'image/svg+xml');
  assert.equal(answer.headers.get('cache-control'), 'private, max-age=31536000, immutable');
  assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none';.* sandbox$/);
  const shown = [...answer.text.matchAll(/<view id="(\d+)" [^>]*\/><image [^>]*href="data:image\/png;base64,([^"]+)"/g)]
    .map(([, id, content]) => [Number(id), content]);
  assert.deepEqual(shown, [[a, icons[0]?.toString('base64')], [b, icons[1]?.toString('base64')]]);
});

test('a single small icon has its own address', async (t) => {
  const { ada, ids: [a] } = await hubWithIcons(t, [icon('a')]);
  assert.match((await addressesOf(ada)).join(), new RegExp(`^/icons/${a}-[0-9a-f]{16}$`));
});

test('a set is there only for members who may see all its sources, and only with the icons that it was made of', async (t) => {
  const { hub, ada, bob, ids: [a = 0, b = 0] } = await hubWithIcons(t, [icon('a'), icon('b'), icon('c')]);
  const [set = ''] = (await addressesOf(ada))[0]?.split('#') ?? [];
  const statusOf = async (client: Client, path = set): Promise<number> => (await client.get(path)).status;
  assert.deepEqual([await statusOf(ada), await statusOf(bob), await statusOf(hub.anybody)], [200, 200, 401]);

  const [ids = '', mark = ''] = set.slice('/icon-sets/'.length).split('-');
  const many = Array.from({ length: 101 }, () => a.toString(36)).join('.');
  for (const wrong of [`${ids}-${mark.replaceAll(/./g, '0')}`, `${a.toString(36)}-${mark}`, `${ids}.zzz-${mark}`, `${many}-${mark}`, `${ids}-`, 'x']) {
    assert.equal(await statusOf(ada, `/icon-sets/${wrong}`), 404, wrong);
  }
  await ada.patch(`/api/sources/${b}`, { visibility: 'private' });
  assert.deepEqual([await statusOf(ada), await statusOf(bob)], [200, 404]);
  giveIcon(hub, a, icon('another'));
  assert.equal(await statusOf(ada), 404);
});
