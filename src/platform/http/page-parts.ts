import { faultOf, faulty, type FieldOptions } from './form-faults.ts';
import { html, type Html } from './html.ts';
import type { HttpError } from './http-error.ts';

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

type Look = 'primary' | 'secondary' | 'plain' | 'link' | 'danger' | '';

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

/** The link to a list's next page; nothing on the last one, whose `href` is null. */
export function nextPage(href: string | null, label: string): Html | false {
  return href !== null && html`<p class="more"><a class="button" rel="next" href="${href}">${label}</a></p>`;
}

export function emptyText(text: Html | string): Html {
  return html`<p class="empty">${text}</p>`;
}
