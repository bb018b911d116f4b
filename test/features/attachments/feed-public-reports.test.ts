// Protects the pictures and sounds of feeds, after public bug reports: each is shown or can be reached, once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { reported, skipReports } from '../../support/public-reports.ts';

const CASES: Record<string, RegExp[]> = {
  'P01 (NetNewsWire#2380, gotosocial#3540): a picture that is only an enclosure': [/\/photo\.png" alt="photo\.png"/],
  'P02 (gotosocial#3540): two pictures without text': [/\/a\.png" alt="a\.png"/, /\/b\.png" alt="b\.png"/],
  'P03 (AntennaPod#2074): a sound without a type': [/<a [^>]*\/ep\.mp3"[^>]*>Listen: ep\.mp3/],
  'P09 (dreamwidth#2168, Folo#2945): a picture whose words say what it shows': [/\/pic\.svg" alt="Diagram of parts"/],
  'P10 (gotosocial#3540): a picture in the text and as enclosure': [/\/real\.png" alt="A"/],
};

test('what a post of a feed has is on its page', { skip: skipReports }, async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  for (const [title, shown] of Object.entries(CASES)) {
    await t.test(`${title} is there, once`, async (t) => {
      const feed = reported(`${title.slice(0, 3)}.xml`);
      const origin = await startOrigin(t, (_request, response) => void response.setHeader('content-type', 'text/xml').end(feed));
      await addFeed(ada, `${origin.url}/feed`);
      const [post] = await itemsAt<{ id: number }>(ada, '/api/posts?limit=1');
      const page = (await ada.get(`/posts/${post?.id}`)).text;
      for (const one of shown) assert.equal(page.match(new RegExp(one, 'g'))?.length, 1, `${one}`);
    });
  }
});
