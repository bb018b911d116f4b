// Protects what every form takes from the kit of pages: what was typed, which field is wrong, and what is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from '../../../src/platform/http/html.ts';
import { HttpError, invalid } from '../../../src/platform/http/http-error.ts';
import {
  inputField, nextPage, passwordInput, postForm, radios, textField, tickBox,
} from '../../../src/platform/http/page-parts.ts';

const REFUSED = invalid([{ pointer: '/b', detail: 'Missing.' }, { pointer: '/c', detail: 'Too long.' }]);

test('a text keeps its empty first line, and cannot end its field', () => {
  const { markup } = textField({ values: { text: '\n</textarea>"' } }, 'text', 'Text', html`rows="3"`);
  assert.match(markup, /<textarea name="text" rows="3" >\n\n&lt;\/textarea&gt;"<\/textarea>/);
});

test('the first of several wrong fields has the focus, and each says why; the others keep what was typed', () => {
  const sent = { values: { a: '"1"', b: '', c: '3' }, problem: REFUSED };
  const [a, b, c] = ['a', 'b', 'c'].map((name) => inputField(sent, name, 'Field', html``).markup);
  assert.match(a ?? '', /value="&quot;1&quot;"\s*><\/label>/);
  assert.match(b ?? '', /"fault-b" autofocus><span class="fault" id="fault-b" role="alert">Missing\.</);
  assert.match(c ?? '', /value="3" +aria-invalid="true" aria-describedby="fault-c" ><span[^>]*>Too long\.</);
});

test('an error that names no field is said at the field that stands for the whole form', () => {
  const problem = new HttpError(403, 'The password is wrong.');
  const field = (whole: boolean) => passwordInput(problem, 'password', 'Password', html``, { whole }).markup;
  assert.match(field(true), /autofocus><span[^>]*>The password is wrong\./);
  assert.doesNotMatch(field(false), /wrong|autofocus/);
});

test('of several choices one is chosen, and the first is marked if the choice is wrong', () => {
  const options: [string, string][] = [['x', 'X'], ['y', 'Y']];
  const [x = '', y = ''] = radios(REFUSED, 'b', options, 'y', 'choice').markup.split('<label').slice(1);
  assert.match(x, /value="x" required aria-invalid="true"/);
  assert.match(y, /value="y" required checked >Y<\/label><span class="fault" id="fault-b"/);
});

test('a box that is not ticked sends 0 only where this is wanted', () => {
  assert.match(tickBox(undefined, 'a', 'A', false, 'sends off').markup, /^<input type="hidden" name="a" value="0">/);
  assert.doesNotMatch(tickBox(undefined, 'a', 'A', true).markup, /hidden/);
});

test('a form without an address is sent to that of its page; the last page of a list leads no further', () => {
  assert.match(postForm(undefined, html``, 'Save').markup, /<form method="post" class="stack">\s*<button>Save</);
  assert.equal(nextPage(null, 'Older'), false);
});
