// Protects the one language of searches and rules: what its parts mean, and where its mistakes are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfSearch, parseExpression, requireExpression } from '../../../src/features/posts/expression.ts';
import { matchWithin, searchQuery } from '../../../src/features/posts/search-query.ts';
import { searchTerms } from '../../../src/features/posts/search-words.ts';
import { tokensOf } from '../../../src/features/posts/tokens-store.ts';
import { addFeed, addNotes, foundTitles, sendJson } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { openInMemory } from '../../../src/platform/db/open-database.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';
import type { StoreHub } from '../../../src/features/hub/hub.ts';

const hub: StoreHub = { db: openInMemory(), clock: Date.now };
hub.db.exec('CREATE TABLE counts (metric, label, value, UNIQUE (metric, label))');

function matchOf(typed: string): string | undefined {
  const expression = parseExpression(typed, { isSearch: true });
  const searched = { wordsFrom: (beginning: string) => [beginning, `${beginning}s`], textsOf: () => [] };
  const query = searchQuery(hub, expression, { viewer: null, ownerId: 0, searched });
  const match = query && matchWithin(query, { from: 0, until: 1, words: ['block'] }, () => true);
  return match?.replaceAll('{title body} : ', '').replace('facts : ("block") AND ', '');
}

test('a typed search becomes quoted words for the index, whatever signs it has', () => {
  const cases: [typed: string, match: string | undefined][] = [
    ['barn owl', '(("barn")) AND (("owl"*))'], ['"barn owl" a "bar', '(("barn owl")) AND (("a")) AND (("bar"*))'],
    ['"barn owl" a "ba', '(("barn owl")) AND (("a")) AND (("ba"))'], ['з', '(("з" OR "зs"))'], ['owl ', '(("owl"))'],
    [' - " ! ', undefined], ['bar* owl ', '(("bar"*)) AND (("owl"))'], ['ba* owl', '(("ba")) AND (("owl"*))'],
    ['"barn owl*" x', '(("barn owl"*)) AND (("x"))'], ['-barn', undefined], ['', undefined],
    ['owl -barn -"at dusk"', '((("owl"))) NOT (("barn") OR ("at dusk"))'],
    ['owl OR newt toad', '(("owl") OR ("newt")) AND (("toad" OR "toads"))'], ['a OR b OR c ', '(("a") OR ("b") OR ("c"))'],
    ['OR owl ', '(("or")) AND (("owl"))'], ['owl OR', '(("owl")) AND (("or"))'], ['owl or a', '(("owl")) AND (("or")) AND (("a"))'],
    ['title:owl a', '(title : ("owl")) AND (("a"))'], ['title：“barn owl” ', '(title : ("barn owl"))'],
    ['Title:owl OR title:new* ', '(title : ("owl") OR title : ("new"*))'], ['owl -title:barn ', '((("owl"))) NOT (title : ("barn"))'],
    ['url:owl ', '(("url owl"))'], ['NEAR(owl) AND x ', '(("near owl")) AND (("and")) AND (("x"))'],
  ];
  for (const [typed, match] of cases) assert.equal(matchOf(typed), match, typed);
});

test('a mistake is told with its place; a search ignores what may be a word, a rule refuses all of it', () => {
  const cases: [typed: string, at: number, problem: RegExp, inSearch: boolean][] = [
    ['owl before:2026', 4, /day such as 2026-01-31/, true], ['after:2026-02-31 x', 0, /day/, true],
    ['owl OR before:2026-01-01', 7, /cannot join “before:”/, true], ['before:2026-01-01 OR owl', 21, /cannot join/, true],
    ['owl OR -newt', 7, /minus/, true], ['owl OR author:ada', 7, /cannot join words of the text/, true],
    ['"barn owl', 0, /no closing mark/, false], ['owl "barn', 4, /no closing mark/, false], ['owl OR', 4, /OR needs/, false],
    ['OR owl', 0, /OR needs/, false], ['ow* x', 0, /three letters/, false], ['x title:ow*', 2, /three letters/, false], ['owl title: newt', 4, /after “title:”/, false],
    ['owl titel:newt', 4, /no “titel:”\. There are “title:”/, false], ['-autor:"ada b"', 0, /no “autor:”/, false],
    ['🦉👍🏽 before:2026', 4, /day such as/, true], ['日本 🦉"a', 4, /no closing mark/, false],
    [`${'a '.repeat(19)}"b c" d`, 38, /at most 20 words/, false], ['-owl', 0, /at least one word/, false],
    [' ', 0, /at least one word/, false], ['owl '.repeat(5) + 'x'.repeat(490), 500, /500 characters/, false],
  ];
  for (const [typed, at, problem, inSearch] of cases) {
    assert.throws(() => requireExpression(typed, 'match', { isRule: true }), (error) => {
      assert.ok(error instanceof HttpError);
      const [fault] = error.errors;
      assert.deepEqual([error.status, fault?.pointer, fault?.at], [422, '/match', at], typed);
      assert.match(fault?.detail ?? '', new RegExp(`^Character ${at + 1}: `));
      assert.match(fault?.detail ?? '', problem);
      return true;
    });
    assert.equal(faultOfSearch(typed, { hasStates: true }) !== undefined, inSearch, typed);
  }
  const fault = (typed: string, hasStates: boolean) => faultOfSearch(typed, { hasStates })?.at;
  assert.deepEqual([fault('x is:red', true), fault('x -is:unread', true), fault('x is:unread', true)], [2, 2, undefined]);
  assert.equal(fault('owl is:unread', false), 4, 'visitors have no reading list');
  assert.throws(() => requireExpression('owl is:unread', 'match', { isRule: true }), /Character 5: Rules cannot use “is:”/);
  requireExpression('is:unread', 'q', { isRule: false });
  for (const word of ['https://a.test/b', 'std::vector', '12:30', 'a:b', '"titel:newt"', 'Re: owl']) {
    requireExpression(word, 'match', { isRule: true });
  }
});

test('pages mark the faulty character, also behind emoji and spaces, and hint at a name that does not exist', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const refused = await ada.form('/settings/rules', { match: '  🦉🦉 before:x', act: 'mute' });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /Character 4: [^]*<code>🦉🦉 <mark>b<\/mark>efore:x<\/code>/);
  for (const page of [await ada.page('/?q=titel:owl'), await hub.anybody.page('/public?q=titel:owl')]) {
    assert.match(page.text, /role="status">Character 1: There is no “titel:”/);
  }
  assert.doesNotMatch((await ada.page('/?q=title:owl')).text, /There is no/);
});

test('the hub splits a text into the same tokens as SQLite does, in scripts of all kinds', () => {
  const cases: [text: string, tokens: string][] = [
    ['Über-Straße, naïve x²; C++ a_b', 'uber strasse naive x2 c a b'], ['ΕΛΛΆΔΑ ωραῖα ς', 'ελλαδα ωραια σ'],
    ['東京都 カ\u3099', '東京 京都 都 ガ'], ['हिन्दी Ǽ Ǣ', 'हिन्दी ae ae'], ['Москва й Ё', 'москва й е'],
  ];
  for (const [text, tokens] of cases) assert.equal(tokensOf(searchTerms(text)).join(' '), tokens, text);
});

test('title, author, source, folder and day narrow a search of public and of private posts', async (t) => {
  for (const visibility of ['public', 'private'] as const) {
    const { hub, ada, sourceId } = await hubWithOwnPosts(t, {}, visibility);
    const other = await addNotes(ada, 'Évening Gazette', visibility);
    await sendJson(ada, 'PUT', `/api/sources/${other}/follow`, { folder: 'Local news' });
    const write = (source: number, title: string, content: string, day: string) =>
      ada.post('/api/posts', { sourceId: source, title, content, publishedAt: `${day}T12:00:00Z` });
    for (const [source, title, content, day] of [
      [sourceId, 'Owls', 'a newt', '2025-01-30'], [sourceId, 'Newts', 'an owl', '2025-01-31'], [other, 'Toads', 'an owl by ada', '2025-02-01'],
    ] as const) assert.equal((await write(source, title, content, day)).status, 201);

    const cases: [typed: string, titles: string[]][] = [
      ['title:owl*', ['Owls']], ['owl* -title:newt*', ['Owls', 'Toads']], ['source:evening', ['Toads']], ['source:gaz*', ['Toads']],
      ['-source:evening owl*', ['Newts', 'Owls']], ['owl in:"local NEWS"', ['Toads']], ['owl in:nowhere', []], ['source:unknown', []],
      ['after:2025-01-31', ['Newts', 'Toads']], ['before:2025-01-31', ['Owls']], ['owl* -after:2025-02-01', ['Newts', 'Owls']],
      ['after:2025-01-31 before:2025-02-01', ['Newts']], ['author:ada', []], ['owl -author:ada', ['Newts', 'Toads']],
      ['author:eve OR source:gazette', ['Toads']], ['title:toads OR title:newts', ['Newts', 'Toads']],
    ];
    for (const [typed, titles] of cases) {
      assert.deepEqual(await foundTitles(ada, typed), titles, typed);
      assert.deepEqual(await foundTitles(ada, typed, '&view=list'), titles, `${typed} in the list`);
      if (visibility === 'private') assert.deepEqual(await foundTitles(hub.anybody, typed), [], typed);
    }
  }
});

test('an author is found by the name, not by what a text says, and together with other names', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const items = [
    { guid: 'a', title: 'By her', extra: '<author>j@blog.test (Jane Doe)</author>' },
    { guid: 'b', title: 'About her', content: 'jane doe', extra: '<author>e@blog.test (Eve)</author>' }, { guid: 'c', title: 'Nobody’s' },
  ];
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', items)) });
  await addFeed(ada, `${origin.url}/feed`);
  await hub.work();

  for (const [typed, titles] of [
    ['author:"jane doe"', ['By her']], ['author:DOE', ['By her']], ['author:jan*', ['By her']], ['jane -author:jane ', ['About her']],
    ['author:eve OR author:doe', ['About her', 'By her']], ['author:eve OR source:owls', ['About her', 'By her', 'Nobody’s']],
  ] as [string, string[]][]) {
    assert.deepEqual(await foundTitles(hub.anybody, typed), titles, typed);
    assert.deepEqual(await foundTitles(ada, typed, '&view=unread'), titles, typed);
  }
  const refused = await ada.get('/api/posts?view=list&q=owl+is:red');
  assert.deepEqual([refused.status, refused.json<{ errors: object[] }>().errors], [400, [{
    pointer: '/q', at: 4, detail: 'Character 5: A search may have “unread”, “starred” or “muted” after “is:”. A rule cannot use “is:”.',
  }]]);
  const page = (await ada.get('/all?q=owl+is:red')).text;
  assert.match(page, /Character 5: .*<code>owl <mark>i<\/mark>s:red<\/code>/s);
  assert.match((await hub.anybody.get('/?q=owl+is:unread')).text, /Character 5: “is:” works only in your reading lists/);
  assert.match((await hub.anybody.get('/help/search')).text, /<kbd>author:&quot;jane doe&quot;<\/kbd>/);
  assert.deepEqual(await foundTitles(ada, 'is:starred jane', '&view=list'), []);
  await sendJson(ada, 'PUT', '/api/posts/1/star', {});
  const [starred, unread] = [await foundTitles(ada, 'is:starred', '&view=list'), await foundTitles(ada, 'is:unread', '&view=starred')];
  assert.deepEqual([starred.length, unread], [1, starred]);
});
