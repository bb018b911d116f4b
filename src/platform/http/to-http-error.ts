import { isStorageTrouble } from '../db/open-database.ts';
import { isDiskFull } from '../error-code.ts';
import { HttpError } from './problem.ts';

/** What a client is told of any error: 503 and 507 where the disk is in trouble, 500 for a fault of our own. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isStorageTrouble(error)) {
    return new HttpError(503, 'The hub cannot store or read its data right now.', { headers: { 'retry-after': '30' } });
  }
  if (isDiskFull(error)) return new HttpError(507, 'There is no space left on the hub’s disk.');
  return new HttpError(500, 'Something went wrong in the hub. It has been noted.');
}
