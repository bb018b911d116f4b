// Protects the promise that a rule catches exactly what a search would find, however many rules there are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchTerms } from '../../../src/features/posts/search-words.ts';
import { indexedText } from '../../../src/features/posts/tokens-store.ts';
import { fitAmong } from '../../../src/features/reading/find-in-lists.ts';
import { atOnce, resumable } from '../../../src/platform/markup/in-steps.ts';
import { compileRules, type PostTexts, type SourceNames } from '../../../src/features/rules/match-rules.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { seeded } from '../../support/random.ts';

const SEEN = { names: [['notes']], folder: 'News' };

function texts(title: string, text: string, author = ''): PostTexts {
  const [inTitle = '', inText = '', byAuthor = ''] = [title, text, author].map((part) => indexedText(searchTerms(part)));
  return { title: inTitle, text: inText, author: byAuthor, publishedAt: Date.UTC(2026, 0, 15) };
}

function fitting(rules: { match: string }[], post: PostTexts, seenBy: () => SourceNames | undefined = () => SEEN): string[] {
  return atOnce(resumable(compileRules(rules).fitting(post, seenBy))).map(({ match }) => match);
}

function isCaught(match: string, post: PostTexts): boolean {
  return fitting([{ match }], post).length === 1;
}

test('each part of an expression decides alike in a rule', () => {
  const post = texts('Low water at Zürich', 'the harbour master says: 東京都庁 🎉', 'Jane Doe');
  const cases: [match: string, isIn: boolean][] = [
    ['low', true], ['wate', false], ['wat*', true], ['"low water"', true], ['"water low"', false], ['zurich -ferry', true], ['low -harbour', false],
    ['title:harbour', false], ['title:low', true], ['title:"low wat*"', true], ['ferry OR harbour', true], ['ferry OR gale', false],
    ['京都庁', true], ['京庁', false], ['🎉', true], ['author:jane', true], ['author:"jane do*"', false], ['author:"jane doe"', true], ['author:low', false],
    ['low author:eve', false], ['source:notes', true], ['source:other', false], ['-source:notes low', false], ['in:news', true], ['in:old OR source:note*', true],
    ['low after:2026-01-15', true], ['low after:2026-01-16', false], ['low before:2026-01-15', false], ['harbour "master says"', true],
  ];
  for (const [match, isIn] of cases) assert.equal(isCaught(match, post), isIn, match);
  const rules = cases.map(([match]) => ({ match }));
  assert.deepEqual(new Set(fitting(rules, post)), new Set(cases.filter(([, isIn]) => isIn).map(([match]) => match)));
  const unseen = fitting(rules, post, () => undefined).filter((match) => /source:|in:/.test(match));
  assert.deepEqual(unseen, [], 'names of a source that the owner of the rule does not see');
});

test('rules made at random catch the posts that a search for them finds, and no others', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const random = seeded(30);
  const pick = <One>(all: readonly One[]): One => all[Math.floor(random() * all.length)] as One;
  const words = ['owl', 'owls', 'Öwl', 'newt', 'newts', 'toad', '東京都', '京都', 'a-b', 'ab', 'x', 'Straße', 'strassen', '🎉'];
  const text = (most: number): string => Array.from({ length: Math.ceil(random() * most) }, () => pick(words)).join(' ');
  const written = Array.from({ length: 60 }, () => ({ title: text(3), content: text(6) }));
  for (const post of written) assert.equal((await ada.post('/api/posts', { sourceId, ...post })).status, 201);
  const part = (): string => pick(['', '', '', '-', 'title:', '-title:']) + pick([pick(words), `${pick(words)}*`, `"${text(3)}"`, `"${text(2)}*"`]);
  const expressions = Array.from({ length: 300 }, () => `${pick(words)} ${part()} ${pick(['', `${pick(words)} OR ${pick(words)}`, part()])}`);

  const rules = expressions.map((match) => ({ match }));
  const caught = written.map(({ title, content }) => new Set(fitting(rules, texts(title, content))));
  const ids = written.map((_, index) => index + 1);
  let hits = 0;
  for (const match of new Set(expressions)) {
    const found = fitAmong(hub.handle, { id: 1, role: 'admin' } as Viewer, match, ids).toSorted((a, b) => a - b);
    assert.deepEqual(ids.filter((id) => caught[id - 1]?.has(match)), found, match);
    hits += found.length;
  }
  assert.ok(hits > 300, `${hits} hits`);
});

test('hostile rules and texts cost steps in proportion to the text alone: after so many steps, no words that stand together are found', () => {
  const long = Array.from({ length: 200 }, (_, n) => ({ match: `"${'a-'.repeat(50 + n)}a"` }));
  const rules = [...long, { match: '"low water"' }, { match: 'low' }];
  const caught = (words: number) => fitting(rules, texts('', `${'a b '.repeat(words)} low water`)).toSorted();
  assert.deepEqual(caught(2), ['"low water"', 'low']);
  assert.deepEqual(caught(2_000), ['low']);
});
