import assert from 'node:assert/strict';
import type { Answer } from './client.ts';

type Item = Record<string, unknown> & {
  id: string; title: string; summary: { content: string }; categories: string[];
  canonical: { href: string }[]; alternate: { href: string; type: string }[]; origin: Record<string, string>;
  enclosure?: { href: string; type: string; length: number }[];
};

const WEB = /^https?:\/\/\S+$/;

/** Checks each answer by what some app needs of it: the app that needs most decides. */
const CHECKS = {
  auth: ({ text }: Answer) => assert.match(text, /^SID=\w+\nLSID=\w+\nAuth=\w+\n$/),
  authAsJson: (answer: Answer) => assert.match(answer.json<{ Auth: string }>().Auth, /^\w+$/),
  token: ({ text }: Answer) => assert.match(text, /^\w+$/),
  ok: ({ text }: Answer) => assert.equal(text, 'OK'),

  user(answer: Answer) {
    const user = answer.json();
    assert.match(String(user['userId']), /^\d+$/);
    for (const value of Object.values(user)) assert.equal(typeof value, 'string');
  },

  tags(answer: Answer) {
    const { tags } = answer.json<{ tags: { id: string }[] }>();
    assert.ok(tags.length > 0 && tags.every(({ id }) => id.startsWith('user/-/')));
  },

  subscriptions(answer: Answer) {
    const { subscriptions } = answer.json<{ subscriptions: Record<string, string>[] }>();
    assert.ok(subscriptions.length > 0);
    for (const { id, title, url, htmlUrl, iconUrl = url } of subscriptions) {
      assert.match(id ?? '', /^feed\/\d+$/);
      assert.ok(title);
      for (const address of [url, htmlUrl, iconUrl]) assert.match(address ?? '', WEB);
    }
  },

  counts(answer: Answer) {
    const { max, unreadcounts } = answer.json<{ max: number; unreadcounts: Record<string, unknown>[] }>();
    assert.ok(Number.isInteger(max) && unreadcounts.length > 0);
    for (const { id, count, newestItemTimestampUsec } of unreadcounts) {
      assert.deepEqual([typeof id, typeof count], ['string', 'number']);
      assert.match(String(newestItemTimestampUsec), /^\d{16}$/);
    }
  },

  ids(answer: Answer) {
    const { itemRefs, continuation } = answer.json<{ itemRefs: object[]; continuation?: string }>();
    for (const ref of itemRefs) {
      assert.deepEqual(Object.keys(ref), ['id'], 'Readrops refuses any other member');
      assert.match((ref as { id: string }).id, /^1\d{15}$/);
    }
    if (continuation !== undefined) assert.ok(itemRefs.length > 0 && /^\d+$/.test(continuation));
  },

  items(answer: Answer) {
    const { id, updated, items, continuation } = answer.json<{
      id: string; updated: number; items: Item[]; continuation?: string;
    }>();
    assert.equal(typeof id, 'string');
    assert.ok(Number.isInteger(updated) && items.length > 0);
    if (continuation !== undefined) assert.match(continuation, /^\d+$/);
    items.forEach(checkItem);
  },
} satisfies Record<string, (answer: Answer) => void>;

export type Shape = keyof typeof CHECKS;

function checkItem(item: Item): void {
  assert.match(item.id, /^tag:google\.com,2005:reader\/item\/[0-9a-f]{16}$/);
  assert.match(String(item['crawlTimeMsec']), /^\d{13}$/);
  assert.match(String(item['timestampUsec']), /^\d{16}$/);
  assert.ok(Number.isInteger(item['published']) && Number.isInteger(item['updated']));
  assert.ok(item.title !== '' && typeof item['author'] === 'string');
  assert.equal(typeof item.summary.content, 'string');
  assert.equal('content' in item, false, 'the text is there once');
  for (const { href } of [...item.canonical, ...item.alternate]) assert.match(href, WEB);
  assert.ok(item.canonical.length > 0 && item.alternate.length > 0);
  assert.ok(item.categories.every((category) => category.startsWith('user/-/')), 'apps compare the whole string');
  const { streamId, title, htmlUrl } = item.origin;
  assert.match(`${streamId} ${htmlUrl}`, /^feed\/\d+ https?:/);
  assert.equal(typeof title, 'string');
  for (const { href, type, length } of item.enclosure ?? []) {
    assert.match(href, WEB);
    assert.deepEqual([typeof type, typeof length], ['string', 'number']);
  }
}

/** Fails unless the answer has the shape that apps expect of the call. */
export function checkShape(shape: Shape, answer: Answer, call: string): void {
  assert.equal(answer.status, 200, `${call}: ${answer.text.slice(0, 200)}`);
  try {
    CHECKS[shape](answer);
  } catch (cause) {
    throw new Error(`${call}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
