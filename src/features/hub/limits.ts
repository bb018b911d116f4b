import type { Limit } from '../../platform/db/rate-limit-store.ts';

/**
 * Limits that a request can meet: the label in `service_limits_refused_total` and the status of the refusal, without
 * Retry-After if it is 413, 422 or 507. A test compares the handbook's table of limits with LIMITS.
 */
export const LIMITS = {
  'sign-in': [
    429, 'At most 10 wrong passwords at once from an address, then one a minute; twice as many from an IPv6 /56.',
  ],
  'sign-in-known': [
    429, 'Beyond the limit of an address, 10 more at once for an account that has used it, then one a minute.',
  ],
  'sign-in-session': [
    429, 'At most 10 wrong passwords at once in a session when a page asks for the password again, then one a minute.',
  ],
  'sign-in-name': [
    429, 'At most 100 wrong passwords at once for a name from addresses new to it, then one every 10 seconds.',
  ],
  'sign-in-app': [
    429, 'At most 10 wrong app passwords at once from an address, then one a minute; 100 at once for one account.',
  ],
  'passwords': [503, 'Two passwords are checked at a time, and at most 30 wait.'],
  'join': [429, 'At most 20 uses at once of invitation or password links from one address, then one a minute.'],
  'late-forms': [429, 'At most 10 forms at once that an account sends after its session has ended, then one a minute.'],
  'tokens-max': [422, 'At most 100 API tokens and app passwords of one account together.'],
  'invitations-max': [422, 'At most 100 unused invitation links of one administrator.'],
  'acts': [429, 'At most 7,200 audited acts of one account at once, except sign-ins, then one every 5 seconds.'],
  'drafts-max': [422, 'An account may have at most 30 drafts, those discarded in the last day included.'],
  'content-quota': [507, 'At most `CONTENT_QUOTA_BYTES` bytes of posts of one account’s sources.'],
  'add-source': [429, 'An account may add at most 30 feeds at once, then one every 20 seconds.'],
  'add-source-at-once': [503, 'Two new feeds are fetched for the first time at a time, and at most 50 wait.'],
  'long-posts': [503, 'One post of more than 20,000 characters is parsed at a time, and at most 40 wait.'],
  'sources-max': [422, 'An account may own at most `SOURCES_MAX` sources.'],
  'transfers': [429, 'An account may transfer or offer at most 60 sources at once, then one every 20 seconds.'],
  'offers-open': [422, 'An account may have at most 10 open offers.'],
  'follows-max': [422, 'A reading list may have at most `SOURCES_MAX` sources of other accounts.'],
  'opml-feeds': [422, 'An OPML document may list at most 5,000 feeds.'],
  'imports-at-once': [429, 'An account may have at most 5 running OPML imports.'],
  'rules-max': [422, 'An account may have at most 100 rules.'],
  'searches-max': [422, 'An account may have at most 20 saved searches.'],
  'sync-now': [429, 'An account may start at most 10 synchronisations at once by hand, then one a minute.'],
  'full-texts': [
    429, 'An account may make the hub fetch the full texts of at most 60 posts in any hour.',
  ],
  'webhook-rate': [429, 'A webhook may send at most 10,000 events at once, then 100 a second.'],
  'uploads-at-once': [429, 'An account may send at most 6 forms with files at the same time.'],
  'upload-quota': [422, 'An account’s uploaded files may have at most `UPLOAD_QUOTA_BYTES` bytes.'],
  'files-of-post': [422, 'A post may have at most 100 files.'],
  'free-space': [507, 'The hub refuses writes while free disk space is below `DISK_RESERVE_BYTES`.'],
  'cache-fetches': [
    503, 'At most 200 remote files may be fetched or queued at once: 100 of one account’s sources, and 40 of one host.',
  ],
  'turns': [
    503, 'A client may have 1,000 waiting requests, but only 10 while all clients of its kind (members or visitors) ' +
      'have 2,000.',
  ],
  'probes': [
    429, 'At most 100 requests a second for health or metrics from an address or IPv6 /56 network, 200 from a /48.',
  ],
  'connections': [
    503, 'At most 2,000 open connections; 100 from one address, 200 from an IPv6 /56 network, 400 from a /48 network.',
  ],
  'body-size': [
    413, 'A form may have 64 KiB, JSON and apps’ requests 1 MiB (without Authorization header 64 KiB), ' +
      'a post 2.5 MiB, OPML 4 MiB, a visitor’s form 16 KiB.',
  ],
  'body-pieces': [
    413, 'A body of more than 256 pieces is cut off if they have less than 32 bytes on average.',
  ],
  'answers': [
    503, 'At most 96 MiB of unread replies of all clients; one with 8 MiB of them may have 100 waiting requests.',
  ],
  'bodies': [
    503, 'At most 48 MiB of request bodies in memory; 16 MiB of one account or address, 32 MiB of an IPv6 /48 network.',
  ],
} as const satisfies Record<string, readonly [status: 413 | 422 | 429 | 503 | 507, meaning: string]>;

export type LimitName = keyof typeof LIMITS;

export type NamedLimit = Limit & { name: LimitName };
