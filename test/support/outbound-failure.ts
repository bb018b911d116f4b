import assert from 'node:assert/strict';
import { OutboundError } from '../../src/platform/net/outbound-fetch.ts';

/** The OutboundError that a fetch ended with; anything else fails the test. */
export async function failure(fetching: Promise<unknown>): Promise<OutboundError> {
  const error = await fetching.then(() => assert.fail('it was fetched'), (cause: unknown) => cause);
  assert.ok(error instanceof OutboundError, String(error));
  return error;
}
