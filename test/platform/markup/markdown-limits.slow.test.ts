// Protects the hub from hostile Markdown: linear time, short steps, bounded nesting and bounded output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP } from '../../../src/platform/markup/in-steps.ts';
import { renderingMarkdown } from '../../../src/platform/markup/markdown.ts';
import { growthOf, numbered, repeated } from '../../support/growth.ts';
import { renderMarkdown } from '../../support/rendered-markdown.ts';

/** Texts that have kept other readers of Markdown busy: a piece that is repeated. */
const REPEATED = [
  '[', '[a](b', '[a](<b', '[a](b "', '[a][', '![[]()', '[ *a', '`', '*', '*a **b', 'a**b c* ', '*a_ ', '~a ~~b ',
  '<', '<a b="<a b=\'', '<!--', '<?', '<![CDATA[', '<a:', '<a@b.', '&', '> ', '- ', '* a\n', '[a]: b "\n',
  '[a]: b\n===\n', 'a|\n', '|-\n', ' \n',
];

/** Further texts of about so many characters. */
const OTHER: Record<string, (length: number) => string> = {
  'runs of backticks of all lengths': (length) =>
    numbered((index) => `${'\`'.repeat(index % 600 + 1)} `, length).slice(0, length),
  'nested images with text': (length) => '!['.repeat(length / 10) + 'x](b)xx'.repeat(length / 10),
  'blank lines in nested lists': (length) => '- '.repeat(length / 4) + repeated('\n', length / 2),
  'lines of code in nested quotes': (length) => repeated(`${'> '.repeat(70)}\`\`\`\n`, length),
  'references and their definitions': (length) =>
    numbered((index) => `[${index}]: u\n`, length / 2) + numbered((index) => `[${index}]`, length / 2),
  'spaces within a line': (length) => `# a${' '.repeat(length / 2)}b${'#'.repeat(length / 2)}c`,
};

test('time grows no faster than the text', () => {
  const texts = [
    ...REPEATED.map((piece): [string, (length: number) => string] => [piece, (length) => repeated(piece, length)]),
    ...Object.entries(OTHER),
  ];
  for (const [name, textOf] of texts) {
    const growth = growthOf(renderMarkdown, textOf);
    assert.ok(growth < 2, `${JSON.stringify(name)} takes ${growth.toFixed(1)} times as many steps per character`);
  }
});

test('a long text is read in many steps, also if it is a single paragraph, list or quote', () => {
  for (const piece of ['*a* ', '[a](b) ', 'a\n', '- a\n', '> a\n\n', '|a\n|-\n', '`a` ', '<b>', '&amp;', '- > a\n']) {
    const text = repeated(piece, 200_000);
    const reading = renderingMarkdown(text);
    let steps = 1;
    while (reading.read(STEP)) steps += 1;
    assert.ok(steps >= text.length / STEP, `${JSON.stringify(piece)}: ${steps} steps`);
    assert.equal(reading.end(), renderMarkdown(text));
  }
});
