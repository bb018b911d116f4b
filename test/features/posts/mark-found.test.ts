// Protects what a search shows: what was found is marked wherever the index found it, and a text stays text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from '../../support/growth.ts';
import { excerptAround, firstFound, markFound, readFound } from '../../../src/features/posts/mark-found.ts';

const MARKED: [typed: string, marked: string][] = [
  ['天気', '東京都の[天気]は晴れです'], ['天気 東京', '[東京]都の[天気]は晴れです'], ['strasse', 'Die [Straße], [STRASSE]'],
  ['Straße', '[strasse]'], ['οδός ελλ', '[ΟΔΟΣ] [Ελλάδα]'], ['ガラス', '[カ\u3099ラス]と[ｶﾞﾗｽ]'], ['🎉 👍', 'party[🎉] [👍🏽] 🇨🇭'],
  ['❤ 🇨🇭', 'I [❤️] [🇨🇭]'], ['특별', `${'서울'.normalize('NFD')}[${'특별'.normalize('NFD')}]시`], ['हिन्दी', '[हिन्दी] में'],
  ['แมว', 'ที่นี่มี[แมว]'], ['full fine uber café', '[ＦＵＬＬ] [ﬁne] [Über] [Cafe\u0301]'], ['محمد', '[مُحَمَّد] أحمد'],
  ['"low water"', '[low water], [low-water], water low'], ['low water', '[low] ebb [water]'], ['harb', '[Harbour] [harb]'],
  ['harb ', 'Harbour [harb]'], ['low ', '[low]_tide, slow, [LOW]’s…[low], lower'],
  ['harb* x', '[harbour] [x]'], ['low -ferry', 'ferry [low]'], ['-ferry', 'ferry'], ['!', 'a!'],
];

for (const [typed, marked] of MARKED) {
  test(`of ${JSON.stringify(typed)} is marked what it finds: ${marked}`, () => {
    const shown = markFound(marked.replace(/[[\]]/g, ''), readFound(typed)).markup;
    assert.equal(shown.replaceAll('<mark>', '[').replaceAll('</mark>', ']'), marked);
  });
}

test('a text with marks is escaped within them and around them', () => {
  const shown = markFound('<b>x&y</b> "x"', readFound('x'));
  assert.equal(shown.markup, '&lt;b&gt;<mark>x</mark>&amp;y&lt;/b&gt; &quot;<mark>x</mark>&quot;');
});

test('the first of what was found is met anywhere in a long text, also across the pieces in which it is read', () => {
  for (const before of [0, 1_990, 1_999, 2_000, 3_995, 11_000]) {
    const text = `${'ab '.repeat(before).slice(0, before)} low water, low water`;
    assert.equal(firstFound(text, readFound('"low water"')), before + 1);
  }
  assert.equal(firstFound('low ebb water', readFound('"low water"')), -1);
});

test('an excerpt begins a little before a place, between words, and says where something is left out', () => {
  const text = `${'word '.repeat(100)}owl ${'more '.repeat(100)}`;
  assert.match(excerptAround(text, 500, 100), /^…(word ){4}owl (more )+m?o?r?e?…$/);
  assert.equal(excerptAround('an owl', 3, 100), 'an owl');
  assert.match(excerptAround(`${'word '.repeat(100)}owl`, 500, 100), /^…(word ){4}owl$/, 'also where little follows');
  assert.equal(excerptAround(text, 0, 7), 'word wo…');
  assert.match(excerptAround('天'.repeat(300), 200, 100), /^…天{100}…$/);
});

test('marking is linear in the text, whatever is looked for', () => {
  const found = readFound(`${'天'.repeat(200)}地 ${'天'.repeat(100)}人 "${'a '.repeat(60)}"`);
  const ways: Record<string, (length: number) => unknown> = {
    'signs and words': (length) => markFound('天a '.repeat(length / 3), found),
    'a phrase that is almost met': (length) => markFound(`${'a '.repeat(39)}b `.repeat(length / 80), found),
    'the first that is found': (length) => firstFound('天 '.repeat(length / 2), found),
  };
  for (const [name, mark] of Object.entries(ways)) {
    const growth = growthOf(({ length }) => mark(length), (length) => 'x'.repeat(length));
    assert.ok(growth < 1.5, `${name}: ${growth.toFixed(1)} times as many steps per character`);
  }
});
