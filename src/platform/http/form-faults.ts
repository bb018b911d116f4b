import { html, type Html } from './html.ts';
import { HttpError } from './http-error.ts';
import type { Reply } from './reply.ts';

/** The reply of `act`, or of `again` if `act` throws an HttpError of one of `statuses` (by default, any but 401). */
export async function orAgain(
  act: () => Promise<Reply>, again: (problem: HttpError) => Reply | Promise<Reply>, statuses?: number[],
): Promise<Reply> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof HttpError) || !(statuses?.includes(error.status) ?? error.status !== 401)) throw error;
    return again(error);
  }
}

/** `whole`: the field shows an error that names no field. `isFirst`: the field has focus if the form has no error. */
export type FieldOptions = { whole?: boolean; isFirst?: boolean };

/** Attributes that mark a refused field and link its reason. The first refused field has the focus. */
export function faulty(problem: HttpError | undefined, name: string, options: FieldOptions = {}): Html | false {
  if (!problem) return options.isFirst === true && html`autofocus`;
  if (detailOf(problem, name, options) === undefined) return false;
  const isFirst = problem.errors.length === 0 || nameIn(problem.errors[0]?.pointer) === name;
  return html`aria-invalid="true" aria-describedby="fault-${name}" ${isFirst && html`autofocus`}`;
}

/** Why a field was refused, shown below it; `faulty` links the two. */
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
