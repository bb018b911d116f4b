/** A fault in a field of the input. `pointer`: a JSON Pointer (RFC 6901). `at`: the fault's place in the field. */
export type FieldError = { pointer: string; detail: string; at?: number };

type ProblemExtras = Partial<Pick<HttpError, 'headers' | 'errors' | 'members'>>;

/** Thrown to refuse a request; `detail` goes to the client. `toHttpError` says what becomes of other errors. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly errors: FieldError[];
  readonly members: Record<string, unknown>;

  constructor(status: number, detail: string, { headers = {}, errors = [], members = {} }: ProblemExtras = {}) {
    super(detail);
    this.status = status;
    this.headers = headers;
    this.errors = errors;
    this.members = members;
  }
}

/** A 404 for a thing that does not exist or that the caller must not see. `what` names the thing, such as "post". */
export function notFound(what: string): HttpError {
  return new HttpError(404, `There is no such ${what}.`);
}

/** A 422 for well-formed input that is not acceptable, or a 400 if `status` says so. */
export function invalid(errors: FieldError[], status: 400 | 422 = 422): HttpError {
  return new HttpError(status, errors.map((error) => error.detail).join(' '), { errors });
}

/** Returns an error with Retry-After: clients should try again after `seconds`, or after one if that is less. */
export function tryLater(status: 429 | 503, seconds: number, reason: string): HttpError {
  const wait = Math.max(1, Math.ceil(seconds));
  return new HttpError(status, `${reason} Try again in ${wait} s.`, { headers: { 'retry-after': String(wait) } });
}
