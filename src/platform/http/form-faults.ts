import { html, type Html } from './html.ts';
import type { HttpError } from './reply.ts';

/**
 * For a field that may have been refused. `whole`: a refusal that names no field is about this one. `isFirst`: the
 * focus begins here while nothing is wrong.
 */
type FieldOptions = { whole?: boolean; isFirst?: boolean };

/** Attributes of a field: that it was refused, and where the reason stands. The first refused one has the focus. */
export function faulty(problem: HttpError | undefined, name: string, options: FieldOptions = {}): Html | false {
  if (!problem) return options.isFirst === true && html`autofocus`;
  if (detailOf(problem, name, options) === undefined) return false;
  const isFirst = problem.errors.length === 0 || nameIn(problem.errors[0]?.pointer) === name;
  return html`aria-invalid="true" aria-describedby="fault-${name}" ${isFirst && html`autofocus`}`;
}

/** What is wrong with the field, below it. */
export function faultOf(problem: HttpError | undefined, name: string, options: FieldOptions = {}): Html | false {
  const detail = problem && detailOf(problem, name, options);
  return detail !== undefined && html`<span class="fault" id="fault-${name}" role="alert">${detail}</span>`;
}

function detailOf(problem: HttpError, name: string, { whole = false }: FieldOptions): string | undefined {
  if (problem.errors.length === 0) return whole ? problem.message : undefined;
  return problem.errors.find(({ pointer }) => nameIn(pointer) === name)?.detail;
}

function nameIn(pointer: string | undefined): string {
  return pointer?.slice(1) ?? '';
}
