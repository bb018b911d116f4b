/** Unix milliseconds. Passed in wherever time matters, so that tests can move it. */
export type Clock = () => number;

/** A number in [0, 1). Passed in wherever chance matters. */
export type Random = () => number;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
