import { faultOf, faulty, type FieldOptions } from './form-faults.ts';
import { contentText, html, type Html } from './html.ts';
import type { HttpError } from './http-error.ts';
import type { Page } from './reply.ts';

/** What a refused form sent, and why it was refused; empty if none was. */
export type FormState = {
  values?: Record<string, string> | undefined;
  problem?: HttpError | undefined;
};

/** `hint`: small, after the label. `note`: small, below the field. `value`: by default what was sent. */
type Parts = FieldOptions & { hint?: Html | string; note?: Html | string; value?: string | undefined };

/** `attributes`: those besides name and value. */
export function inputField(
  { values = {}, problem }: FormState, name: string, label: Html | string, attributes: Html, parts: Parts = {},
): Html {
  const value = 'value' in parts ? parts.value : values[name];
  return labelled(problem, name, label, parts, html`<input name="${name}" value="${value}" ${attributes} ${
    faulty(problem, name, parts)}>`);
}

/** What was typed is never shown again. */
export function passwordInput(
  problem: HttpError | undefined, name: string, label: string, attributes: Html, parts: Parts = {},
): Html {
  return labelled(problem, name, label, parts, html`<input name="${name}" type="password" ${attributes} ${
    faulty(problem, name, parts)}>`);
}

/** A text of several lines. */
export function textField(
  { values = {}, problem }: FormState, name: string, label: Html | string, attributes: Html, parts: Parts = {},
): Html {
  return labelled(problem, name, label, parts, html`<textarea name="${name}" ${attributes} ${
    faulty(problem, name, parts)}>
${contentText(values[name])}</textarea>`); // HTML drops a line end that begins a text
}

export function selectField(
  problem: HttpError | undefined, name: string, label: string, options: Html | Html[],
): Html {
  return labelled(problem, name, label, {}, html`<select name="${name}" ${faulty(problem, name)}>${options}</select>`);
}

function labelled(
  problem: HttpError | undefined, name: string, label: Html | string, { hint, note, ...options }: Parts, field: Html,
): Html {
  return html`<label>${label}${hint && html` <span class="optional">${hint}</span>`}
    ${field}${faultOf(problem, name, options)}${note && html`
    <small>${note}</small>`}</label>`;
}

export function optionOf(value: string, label: string, chosen: string | null | undefined): Html {
  return html`<option value="${value}" ${value === (chosen ?? '') && html`selected`}>${label}</option>`;
}

export function hiddenInput(name: string, value: string | number | undefined): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

/** A box that sends 1 or, if it is not ticked and `sendsOff`, 0. */
export function tickBox(
  problem: HttpError | undefined, name: string, label: string, isOn: boolean, sendsOff?: 'sends off',
): Html {
  return html`${sendsOff && hiddenInput(name, '0')}
    <label class="check"><input type="checkbox" name="${name}" value="1" ${isOn && html`checked `}${
      faulty(problem, name)}> ${label}</label>${faultOf(problem, name)}`;
}

/** One of several, inside a fieldset. A `choice`, which has a line below its label, must be made. */
export function radios(
  problem: HttpError | undefined, name: string, options: (readonly [value: string, label: Html | string])[],
  chosen: string | undefined, look: 'check' | 'choice',
): Html {
  const radio = ([value, label]: (typeof options)[number], index: number): Html => html`
    <label class="${look}"><input type="radio" name="${name}" value="${value}" ${look === 'choice' && html`required `}${
      value === chosen && html`checked `}${index === 0 && faulty(problem, name)}>${label}</label>`;
  return html`${options.map(radio)}${faultOf(problem, name)}`;
}

/**
 * A form sent by POST; without `action`, to its page's address. `button`: the label of its only button, or what stands
 * at its end.
 */
export function postForm(action: string | undefined, fields: Html, button: Html | string, look = 'stack'): Html {
  return html`
<form method="post"${action !== undefined && html` action="${action}"`}${look && html` class="${look}"`}>${fields}
  ${buttonOf(button)}
</form>`;
}

/** The end of a form: its button, and a link that leaves it. */
export function orLeave(button: Html | string, href: string, leave: string): Html {
  return html`<div class="actions">${buttonOf(button)} <a class="quiet" href="${href}">${leave}</a></div>`;
}

function buttonOf(button: Html | string): Html {
  return typeof button === 'string' ? html`<button>${button}</button>` : button;
}

/** The faults of a refused form, shown above it. */
export function formProblem(problem: HttpError): Html {
  const faults = problem.errors.length > 0 ? problem.errors.map((error) => error.detail) : [problem.message];
  return html`<div class="problem" role="alert">${faults.map((detail) => html`<p>${detail}</p>`)}</div>`;
}

type Look = 'primary' | 'secondary' | 'plain' | 'link' | 'danger' | 'item' | '';

/** A form that is only a button. `says`: the label for screen readers, which do not see the row around it. */
export function postButton(action: string, label: Html | string, look: Look = 'secondary', says?: string): Html {
  return html`<form method="post" action="${action}"><button ${look && html`class="${look}"`} ${
    says !== undefined && html`aria-label="${says}"`}>${label}</button></form>`;
}

/** One part of a page of settings. `about`: the hint below the heading; may be empty. */
export function settingsSection(id: string, heading: string, about: string, body: Html): Html {
  return html`
<section id="${id}">
  <div class="said-of"><h2>${heading}</h2>${about && html`<p class="hint">${about}</p>`}</div>
  <div class="body">${body}</div>
</section>`;
}

/** A part of a page that opens on demand. */
export function details(summary: Html | string, inside: Html, { isOpen = false, look = '' } = {}): Html {
  return html`<details${look && html` class="${look}"`}${isOpen && html` open`}><summary>${summary}</summary>${
    inside}</details>`;
}

/** A button that opens a sheet of others. `attributes`: the button's. */
export function menu(attributes: Html, drawn: Html, sheet: Html): Html {
  return html`<details class="drop"><summary ${attributes}>${drawn}</summary>${sheet}</details>`;
}

/** A page whose title stands in the bar. */
export function titledPage(title: string, main: Html, more: Partial<Page> = {}): Page {
  return { title, bar: html`<h1>${title}</h1>`, main, ...more };
}

/** A page with little on it: a heading, a sentence about it, and the rest. The heading is its title. */
export function narrowPage(heading: string, lead: Html | string, rest: Html, more: Partial<Page> = {}): Page {
  const main = html`
<section class="narrow">
  <h1>${heading}</h1>
  ${lead && html`<p class="lead">${lead}</p>`}${rest}
</section>`;
  return { title: heading, main, ...more };
}

/** The link to a list's next page; nothing on the last one, whose `href` is null. */
export function nextPage(href: string | null, label: string): Html | false {
  return href !== null && html`<p class="more"><a class="button" rel="next" href="${href}">${label}</a></p>`;
}

export function emptyText(text: Html | string): Html {
  return html`<p class="empty">${text}</p>`;
}

/** Attributes of links that leave the hub. */
export const AWAY = html`rel="noopener noreferrer" referrerpolicy="no-referrer"`;
