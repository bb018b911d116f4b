// Protects what people reported of searches and rules: words are found in the forms in which readers type them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { addFeed, addPost, foundTitles } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startOrigin } from '../../support/origin.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { reported, skipReports } from '../../support/public-reports.ts';

/** Texts, which all searches in their files find, but those of STAYS. */
const TEXTS: Record<string, string> = {
  F01a: 'FreshRSS#7336', F01b: 'FreshRSS#7336', F01c: 'FreshRSS#5346', F02: 'FreshRSS#8428',
  F05a: 'newsbeuter#28, sumatrapdf#1189, cvim#478', F05d: '', F05e: '', F05f: '', F06a: 'bhl-europe#38', F06b: 'xapian-haystack#47',
  F07a: '', F07b: '', F07c: '', F07d: '', F07f: '', F07h: '', F07i: '', F07k: '', F08a: '', F09: '', F10a: '', F10b: '', F10c: '',
  F10d: '', F10e: '', F10f: '', F10g: '',
};

/** What does not find the text, and why this stays. */
const STAYS: Record<string, string[]> = {
  F05d: ['میخواهم'], // U+200C parts the words of Persian like a space, as in Lucene's filter of Persian
  F07f: ['ueber'], // unaccent, FTS5 and Lucene's ASCII folding make u of ü; "ue" stands for itself in Feuer, neue, query
  F08a: ['dont'], // no index of words joins the parts of a word at an apostrophe: PostgreSQL, FTS5, Lucene
  F10a: ['email', 'wifi'], // nor at a hyphen
  F10b: ['2.3.1'], // v2 is one word everywhere; "v2.3.1" and "v2*" find it
};

const SEARCHES: Record<string, [typed: string, isFound: boolean]> = {
  'F05 "Donaudampfschiff fährt"': ['"Donaudampfschiff fährt"', true],
  'F05 Donau dampf schiff': ['Donau dampf schiff', false], // three words; that found it before, as if they were
  'F05 Donau*': ['Donau*', true], 'F05 Donau\u00addampf\u00adschiff': ['Donau\u00addampf\u00adschiff', true],
  'F05 Verwaltung': ['Verwaltung', true],
};

const AUTHORS = [
  'The A.V. Club Staff', 'João Carrasqueira', 'Sherri L. Smith', 'Ann-Marie d\'Arc', 'João Silva', 'O’Brien, Dr. Zoë', 'Łukasz Żak',
  '山田太郎',
];
const [CLUB, CARRASQUEIRA, SMITH, ARC, SILVA, BRIEN, ZAK, YAMADA] = AUTHORS;
const BY_AUTHOR: Record<string, (string | undefined)[]> = {
  'F03 author:"A.V. Club"': [CLUB], 'F03 author:"João Carrasqueira"': [CARRASQUEIRA], 'F03 author:"Sherri L. Smith"': [SMITH],
  'F03 author:"joao carrasqueira"': [CARRASQUEIRA], 'F03 author:Ann-Marie': [ARC], 'F03 author:João': [CARRASQUEIRA, SILVA],
  "F03 author:O'Brien": [BRIEN], 'F03 author:O’Brien': [BRIEN], "F03 author:d'arc": [ARC], 'F03 author:joao': [CARRASQUEIRA, SILVA],
  'F03 author:smith': [SMITH], 'F03 author:zak': [ZAK], 'F03 author:zoe': [BRIEN], 'F03 author:山田': [YAMADA],
  'author:lukasz': [ZAK],
};

const RULES: Record<string, [match: string, titles: string[]]> = {
  R01: ['JackFrost-NSFW', ['F01c']], R02: ['Donaudampfschiff', ['F05a']], R03: ['"kingdom: come"', ['F01a', 'F01b']],
  R04: ['C++', ['F06a']], R05: ['title:"AT&T"', ['F01b']], R07: ['Αθηνα', ['F02']],
};

function textOf(id: string): { text: string; typed: string[] } {
  const [text = '', searches = ''] = reported(`${id}.txt`).toString().split('\n--\n');
  return { text, typed: searches.split('\n').filter((line) => line !== '') };
}

test('texts of public reports are found by searches and rules', { skip: skipReports }, async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  for (const id of Object.keys(TEXTS)) await addPost(ada, sourceId, textOf(id).text, textOf(id).text);
  for (const [id, report] of Object.entries(TEXTS)) {
    await t.test(`${id}${report && ` (${report})`}: what readers type finds the text, in its own form and in others`, async () => {
      const { text, typed } = textOf(id);
      for (const one of typed) {
        const isFound = STAYS[id]?.includes(one) !== true;
        assert.equal((await foundTitles(ada, one)).includes(text), isFound, one);
        assert.equal((await previewed(ada, one)).includes(text), isFound && !isBeginning(one), `rule ${one}`);
      }
    });
  }
  await addPost(ada, sourceId, 'Ver\u00adwal\u00adtung', 'x');
  for (const [id, [typed, isFound]] of Object.entries(SEARCHES)) {
    await t.test(`${id}: soft hyphens belong to the word`, async () => {
      const wanted = id.endsWith('Verwaltung') ? 'Ver\u00adwal\u00adtung' : textOf('F05a').text;
      assert.equal((await foundTitles(ada, typed)).includes(wanted), isFound);
    });
  }
  for (const [id, [match, ids]] of Object.entries(RULES)) {
    await t.test(`${id}: the rule ${match} fits what a search would find`, async () => {
      assert.deepEqual(await previewed(ada, match), ids.map((one) => textOf(one).text).toSorted());
    });
  }
});

/** Whether a search takes it for the beginning of a word, as a rule does not. */
function isBeginning(typed: string): boolean {
  return typed === 'donaudampf';
}

async function previewed(client: Client, match: string): Promise<string[]> {
  const answer = await client.post('/api/rules/preview', { match });
  assert.equal(answer.status, 200, answer.text);
  return answer.json<{ items: { title: string }[] }>().items.map(({ title }) => title).toSorted();
}

test('authors of public reports (FreshRSS#6749) are found by the words of their names', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const items = AUTHORS.map((name) => ({ guid: name, title: name, extra: `<dc:creator>${name}</dc:creator>` }));
  const feed = rss('Authors', items).replace('<rss ', '<rss xmlns:dc="http://purl.org/dc/elements/1.1/" ');
  const origin = await startOrigin(t, { '/feed': serving(() => feed) });
  await addFeed(ada, `${origin.url}/feed`);
  await hub.work();
  for (const [id, names] of Object.entries(BY_AUTHOR)) {
    await t.test(`${id}: finds ${names.join(' and ')}`, async () => {
      const typed = id.replace('F03 ', '');
      assert.deepEqual(await foundTitles(ada, typed), names.toSorted());
      assert.deepEqual(await previewed(ada, typed), names.toSorted());
    });
  }
});

test('no sign that nobody sees parts a word: in titles, texts and names of authors, for searches, rules and marks', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const signs = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code !== 0x200c && code < 0xe0200 && /^\p{Default_Ignorable_Code_Point}$/u.test(String.fromCodePoint(code)))
    .filter((code, at) => code < 0xfff0 || at % 40 === 0).map((code) => String.fromCodePoint(code)).concat('\u200c');
  assert.ok(signs.length > 60);
  const split = (sign: string): string => `Do${sign}nau${sign}${sign}dampf${sign}`;
  const items = signs.flatMap((sign, n) => [
    { guid: `t${n}`, title: `${split(sign)} steamer` },
    { guid: `x${n}`, title: 'In the text', content: `<p>${split(sign)} <b>st${sign}eamer</b></p>` },
    { guid: `a${n}`, title: 'By', extra: `<author>a@b.test (${split(sign)} Smith)</author>` },
  ]);
  const wanted = { 'title:donaudampf': signs.length, '"donaudampf steamer"': 2 * signs.length, 'donaudam* steamer': 2 * signs.length,
    'author:donaudampf': signs.length, 'author:"donaudampf smith"': signs.length, [split('\u00ad')]: 3 * signs.length };
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Signs', [])), '/more': serving(() => rss('Signs', items)) });
  for (const [match] of Object.entries(wanted)) await ada.post('/api/rules', { match, act: 'star' });
  await addFeed(ada, `${origin.url}/feed`);
  await addFeed(ada, `${origin.url}/more`);
  await hub.work();
  for (const [typed, count] of Object.entries(wanted)) {
    const found: string[] = [];
    for (let next: string | null = ''; next !== null;) {
      const page: { items: { title: string }[]; next: string | null } = (await ada.get(`/api/posts?${new URLSearchParams({ q: typed, limit: '100', ...next && { cursor: next } })}`))
        .json();
      found.push(...page.items.map(({ title }) => title));
      next = page.next;
    }
    assert.equal(found.length, count, typed);
    const preview = (await ada.post('/api/rules/preview', { match: typed })).json<{ count: number; among: number }>();
    assert.equal(preview.count, count, `rule ${typed}, among ${preview.among}`);
  }
  for (const none of ['nau', 'dampf', 'eamer']) assert.deepEqual(await foundTitles(ada, `${none} `), [], none);
  assert.match((await ada.get('/all?q=donaudampf')).text, /<mark>Do[^<]*dampf/);
});

test('letters are found by those that readers type for them, in searches, rules and marks', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  const cases: [text: string, typed: string[]][] = [
    ['Łukasz', ['lukasz', 'ŁUKASZ']], ['Đoković', ['dokovic']], ['Þór á Ísafirði', ['thor', 'isafirdi']], ['Ħamrun', ['hamrun']],
    ['Cœur de bœuf', ['coeur', 'boeuf', 'CŒUR']], ['Færøerne', ['faeroerne']], ['Ǽsc', ['aesc']], ['Ɓaure da Ƙano', ['baure', 'kano']],
    ['Самолёт, ещё ЁЛКА', ['самолет', 'еще', 'ёлка', 'елка']], ['Ильѝ', ['ильи']], ['пʼять', ['п\'ять', 'п’ять', 'пʼять']],
    ['Oʻzbekiston', ['o\'zbekiston', 'o‘zbekiston']], ['آذار ٱلسلام', ['اذار', 'السلام']], ['مكتبة على', ['مكتبه', 'علي']],
    ['کتاب فارسی', ['كتاب', 'فارسي', 'کتاب']], ['ज़रूरी फ़िल्म', ['जरूरी', 'फिल्म', 'फ़िल्म']], ['שָׁלוֹם', ['שלום']],
    ['ᲗᲑᲘᲚᲘᲡᲘ', ['თბილისი']], ['ISPARTA ışık', ['isparta', 'isik', 'ışık', 'IŞIK']],
  ];
  for (const [text] of cases) await addPost(ada, sourceId, text, 'x');
  for (const [text, typed] of cases) {
    for (const one of typed) {
      assert.ok((await foundTitles(ada, one)).includes(text), `${one}: ${text}`);
      assert.ok((await previewed(ada, one)).includes(text), `rule ${one}: ${text}`);
      assert.match((await ada.get(`/all?q=${encodeURIComponent(one)}`)).text, /<mark>/, `mark of ${one}`);
    }
  }
  for (const [typed, text] of [['ы', 'Ёлы'], ['й', 'и'], ['о', 'o']] as const) assert.ok(!(await foundTitles(ada, `"${typed}"`)).includes(text));
  for (const nothing of ['ـ', '\u3164', '"\u00ad"', 'ʼ']) assert.deepEqual(await foundTitles(ada, nothing), [], 'nothing is searched for');
});
