import assert from 'node:assert/strict';
import { parseCidrs } from '../../src/platform/net/address-guard.ts';
import {
  createOutboundFetch, OutboundError, type OutboundFetch, type OutboundOptions,
} from '../../src/platform/net/outbound-fetch.ts';

/** Fetches from this machine; no name may be looked up unless `lookup` is given. */
export function openFetch(options: Partial<OutboundOptions> = {}): OutboundFetch {
  const lookup = () => assert.fail('no name was to be looked up');
  const own = { userAgent: 'Hub/1 (+https://hub.example)', allow: parseCidrs('127.0.0.0/8, ::1') };
  return createOutboundFetch({ ...own, lookup, totalMs: 5_000, ...options });
}

/** The OutboundError that a fetch ended with; anything else fails the test. */
export async function failure(fetching: Promise<unknown>): Promise<OutboundError> {
  const error = await fetching.then(() => assert.fail('it was fetched'), (cause: unknown) => cause);
  assert.ok(error instanceof OutboundError, String(error));
  return error;
}
