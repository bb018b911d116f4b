import { html, type Html } from './html.ts';
import type { HttpError } from './problem.ts';

/** What is wrong with a form that was sent, above the form. */
export function formProblem(problem: HttpError): Html {
  const details = problem.errors.length > 0 ? problem.errors.map((error) => error.detail) : [problem.message];
  return html`<div class="problem" role="alert">${details.map((detail) => html`<p>${detail}</p>`)}</div>`;
}
