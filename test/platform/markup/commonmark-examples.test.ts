// Protects writers: the examples of the specifications of CommonMark and of GitHub’s tables and strikethrough come out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { renderMarkdown } from '../../support/rendered-markdown.ts';

/** The paths of specifications, such as spec.txt of CommonMark and of cmark-gfm, separated by colons. */
const SPECIFICATIONS = (process.env['MARKDOWN_SPECS'] ?? '').split(':').filter(Boolean);
const skip = SPECIFICATIONS.length === 0 && 'MARKDOWN_SPECS names no specification';

/** The extensions of GitHub that the hub has. The other examples of GitHub's specification are CommonMark 0.29's. */
const EXTENSIONS = ['table', 'strikethrough'];

const EXAMPLE = /^`{32} example ?(\w*)\n([^]*?)^\.\n([^]*?)^`{32}$/gm;

function examplesIn(path: string): { extension: string; markdown: string; html: string }[] {
  const text = readFileSync(path, 'utf8').replaceAll('→', '\t');
  return [...text.matchAll(EXAMPLE)].map(([, extension = '', markdown = '', html = '']) =>
    ({ extension, markdown, html }));
}

/**
 * All 652 examples of CommonMark 0.31.2 and all ten of tables and strikethrough come out. On 4.9 million short texts,
 * commonmark.js 0.31.2 and cmark-gfm 0.29 differ only so:
 * - commonmark.js copies raw HTML into alternative texts of images, wants spaces around a bare destination, where tabs
 *   may stand, and removes no-break spaces at the ends of paragraphs; cmark removes tabs at the ends of lines.
 * - A lone CR at the end of a text adds no empty line to an open code block; lone surrogates become U+FFFD.
 * - At most 90 quotes, lists and items nest, 32 parentheses in a bare destination (as in cmark); all reference links of a
 *   text have at most 100,000 characters of destinations and titles, or its own length; tables get at most 10,000 cells.
 * - Two runs of tildes strike through if they are equally long; cmark-gfm tries only the nearest run (`~~a ~b~~`).
 * - After a delimiter row with another number of cells than its head, a table may follow in the same paragraph.
 */
test('the examples of the specifications become the HTML of the specifications', { skip }, () => {
  for (const path of SPECIFICATIONS) {
    const all = examplesIn(path);
    const extended = all.filter(({ extension }) => EXTENSIONS.includes(extension));
    assert.ok(all.length > 600, `${path}: ${all.length} examples`);
    // The specifications give headings no ids.
    const written = (markdown: string): string => renderMarkdown(markdown).replace(/(<h[1-6]) id="[^"]*">/g, '$1>');
    const different = (extended.length > 0 ? extended : all).map(({ markdown, html }) => ({ markdown, html, own: written(markdown) }))
      .filter(({ html, own }) => own !== html);
    assert.deepEqual(different, []);
  }
});
