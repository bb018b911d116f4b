import type { Limit } from '../../platform/db/rate-limit-store.ts';

/**
 * Every limit that a request can meet: its label in `service_limits_refused_total` and the status of its refusal. After
 * status 413, 422 or 507 waiting does not help. A test compares the handbook's table of limits with this list.
 */
export const LIMITS = {
  'sign-in': [429, 'From one address, 10 wrong passwords at once, then one a minute; from an IPv6 /56 twice as many.'],
  'sign-in-known': [
    429, 'For one account, 10 wrong passwords at once from an address where it signed in before, then one a minute.',
  ],
  'sign-in-session': [429, 'In one session, 10 wrong confirmations of the password at once, then one a minute.'],
  'sign-in-name': [429, 'For one account, 100 wrong passwords at once from new addresses, then one every 10 seconds.'],
  'passwords': [503, 'A maximum of passwords that the hub is checking, or that wait to be checked.'],
  'join': [429, 'From one address, 20 uses of invitation or password links at once, then one a minute.'],
  'late-forms': [429, 'From one account, 10 forms at once after its session has ended, then one a minute.'],
  'tokens-max': [422, 'One account may have at most 100 API tokens.'],
  'invitations-max': [422, 'One administrator may have at most 100 invitation links that nobody has used yet.'],
  'acts': [429, 'One account may do 7,200 audited acts at once, then one every 5 seconds; sign-ins do not count.'],
  'content-quota': [507, 'The contents of one account’s sources may have at most `CONTENT_QUOTA_BYTES` bytes.'],
  'add-source': [429, 'One account may add 30 feeds at once, then one every 20 seconds.'],
  'add-source-at-once': [503, 'A maximum of new feeds that the hub is fetching, or that wait to be fetched.'],
  'long-posts': [503, 'A maximum of posts over 20,000 characters that the hub is parsing, or that wait to be parsed.'],
  'sources-max': [422, 'One account may own at most `SOURCES_MAX` sources.'],
  'transfers': [429, 'One account may transfer or offer 60 sources at once, then one every 20 seconds.'],
  'offers-open': [422, 'One account may offer at most 10 sources to members at the same time.'],
  'follows-max': [422, 'One reading list may have at most `SOURCES_MAX` sources of other accounts.'],
  'opml-feeds': [422, 'One OPML document may name at most 5,000 feeds.'],
  'imports-at-once': [429, 'One account may have at most 5 OPML imports under way.'],
  'read-marks': [422, 'One account may mark at most 20,000 posts one by one; marking a whole source does not count.'],
  'sync-now': [429, 'One account may ask for 10 synchronisations at once, then one a minute.'],
  'webhook-rate': [429, 'One webhook may get 10,000 events at once, then 100 a second.'],
  'uploads-at-once': [429, 'One account may send at most 6 forms with files at the same time.'],
  'upload-quota': [422, 'The uploaded files of one account may have at most `UPLOAD_QUOTA_BYTES` bytes.'],
  'files-of-post': [422, 'One post may have at most 100 files.'],
  'free-space': [507, 'The hub stores nothing while free space is below `DISK_RESERVE_BYTES`.'],
  'cache-fetches': [
    503, 'The hub fetches at most 200 remote files at once, 100 for one account’s sources, 40 from one host.',
  ],
  'turns': [503, 'One client may have 1,000 waiting requests, or 10 while all members or networks have 2,000.'],
  'probes': [429, 'One address or IPv6 /56 may send 100 requests for health or metrics a second; a /48 may send 200.'],
  'connections': [503, 'All clients have at most 2,000 connections; one address 100, an IPv6 /56 200, a /48 400.'],
  'body-size': [413, 'A form has at most 64 KiB, JSON 1 MiB, a post 2.5 MiB, OPML 4 MiB, before sign-in 16 KiB.'],
  'body-pieces': [413, 'A request body may arrive in at most 256 pieces, or in one piece for each 32 bytes.'],
  'answers': [
    503, 'Replies not read by clients take at most 96 MiB; a client over 8 MiB may have 100 waiting requests.',
  ],
  'bodies': [503, 'Request bodies in memory take at most 48 MiB, 16 MiB of one address, 32 MiB of an IPv6 /48.'],
} as const satisfies Record<string, readonly [status: 413 | 422 | 429 | 503 | 507, meaning: string]>;

export type LimitName = keyof typeof LIMITS;

/** A rate limit whose refusals are counted. */
export type NamedLimit = Limit & { name: LimitName };
