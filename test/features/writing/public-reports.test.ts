// Protects links and pictures in posts that are written here, after public bug reports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubWithOwnPosts } from '../../support/own-posts.ts';

type Case = { text: string; contentType?: string; right: RegExp };

const CASES: Record<string, Case> = {
  'I02 (Shaarli#966): brackets in an address in the text belong to it': {
    text: 'see https://en.wikipedia.example/wiki/Degrees_(engineering) now', right: /href="https:\/\/en\.wikipedia\.example\/wiki\/Degrees_\(engineering\)"/,
  },
  'N01a: a link leads to a place in HTML': {
    text: '[go](#part-two)\n\n<h2 id="part-two">Part two</h2>', right: /#in-post-part-two">go<\/a>[^]*<h2 id="in-post-part-two">/,
  },
  'N01b: a link leads to a heading by its words': {
    text: '[go](#part-two)\n\n## Part two', right: /#in-post-part-two">go<\/a>[^]*<h2 id="in-post-part-two">/,
  },
  'N01c: an old anchor is a place': {
    text: '<a href="#n1">1</a><p><a name="n1"></a>note</p>', contentType: 'text/html', right: /#in-post-n1">1<\/a>[^]*<span id="in-post-n1">/,
  },
  'N01e: an address on the hub may lack its host': { text: '[x](/posts/1)', right: /<a href="http:[^"]+\/posts\/1">x<\/a>/ },
  'N01g: an address may lack its scheme': { text: '[x](//site.example/a)', right: /<a href="https:\/\/site\.example\/a"/ },
  'N01h: an address may begin with its host': { text: '[x](site.example/a)', right: /<a href="https:\/\/site\.example\/a"/ },
  'N01i: an address may be one of mail': { text: '[x](mailto:a@b.example)', right: /<a href="mailto:a@b\.example"/ },
  'N01j: a file on the hub may be named by its path': {
    text: '[x](/attachments/1-ab/x.png)', right: /<a href="http:[^"]+\/attachments\/1-ab\/x\.png">x<\/a>/,
  },
  'N01l: a page of any hub may be named in full': { text: '[x](http://hub.example/posts/1)', right: /<a href="http:\/\/hub\.example\/posts\/1"/ },
  'N01o: a picture from a host named stats is a picture': {
    text: '![plot](https://stats.example/plot.png)', right: /<img src="[^"]+\/plot\.png" alt="plot"/,
  },
  'N02 (jekyll-feed#260): a path above the post is one on the hub': { text: '[x](../sources)', right: /<a href="http:[^"]+\/sources">x<\/a>/ },
};

/** What stays as it is, and why. */
export const STAYS: Record<string, string> = {
  N01m: 'Links of other schemes, such as ftp and xmpp, may start any program; their words stay.',
};

test('what a writer means by an address is what its readers get', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  for (const [title, { text, contentType = 'text/markdown', right }] of Object.entries(CASES)) {
    await t.test(title, async () => {
      const answer = await ada.post('/api/posts', { sourceId, title, content: text, contentType });
      assert.equal(answer.status, 201, answer.text);
      assert.match(answer.json<{ contentHtml: string }>().contentHtml, right);
    });
  }
});
