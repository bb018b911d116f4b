// Protects the template of all pages: what stands in its holes is escaped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html, trusted, type Html } from '../../../src/platform/http/html.ts';

test('what stands in a hole is escaped unless it is markup; nothing, and what is false, leaves nothing', () => {
  const list = [html`<i>${1}</i>`, html`<i>${'"2"'}</i>`];
  assert.equal(html`<p title="${`<'&"`}">${'<b>'}${trusted('<b>')}${list}${0}${''}${null}${undefined}${false}</p>`.markup,
    '<p title="&lt;&#39;&amp;&quot;">&lt;b&gt;<b><i>1</i><i>&quot;2&quot;</i>0</p>');
  assert.equal(html`${[]}`.markup, '');
});

test('lists of any length, within lists, are the same text and the same bytes as their parts one after another', () => {
  const row = (index: number): Html => html`<li id="${index}">${'ö…😀\ud83d'.repeat(index % 40)}</li>`;
  for (const count of [1, 400, 4_000]) {
    const rows = Array.from({ length: count }, (_, index) => row(index));
    const text = rows.map(({ markup }) => markup).join('');
    const sections = [html`<ol>${rows}</ol>`, html`<p>–</p>`, html`<ol>${rows}</ol>`];
    const whole = html`<main>${html`${sections}`}</main>${rows}.`;
    const expected = `<main><ol>${text}</ol><p>–</p><ol>${text}</ol></main>${text}.`;

    assert.equal(whole.markup, expected);
    assert.equal(whole.bytes.compare(Buffer.from(expected)), 0);
  }
});
