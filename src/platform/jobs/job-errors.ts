/** The job can never succeed: it is buried at once. */
export class PermanentError extends Error {}

/** The job should not be tried again before `at` (unix ms). */
export class RetryLaterError extends Error {
  readonly at: number;

  constructor(message: string, at: number, options?: ErrorOptions) {
    super(message, options);
    this.at = at;
  }
}
