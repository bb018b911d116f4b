import type { Limit } from '../../platform/db/rate-limit-store.ts';

/**
 * Every limit that a client can hit, by its label in `service_limits_refused_total`, with the status of a refusal.
 * After status 413, 422 or 507 waiting does not help. A test compares the handbook's table with this list.
 */
export const LIMITS = {
  'sign-in': [429, 'Wrong passwords from one address: 10 at once, then one a minute; from an IPv6 /56 twice as many.'],
  'sign-in-known': [
    429, 'Wrong passwords for one account from an address where it signed in before: 10 at once, then one a minute.',
  ],
  'sign-in-session': [
    429, 'Wrong passwords in one session that is asked for its password again: 10 at once, then one a minute.',
  ],
  'sign-in-name': [429, 'Wrong passwords for one account from anywhere else: 100 at once, then one every 10 seconds.'],
  'passwords': [503, 'Passwords that are being checked or wait to be checked.'],
  'join': [429, 'Uses of invitation or password links from one address: 20 at once, then one a minute.'],
  'late-forms': [429, 'Forms that one account sends after its session has ended: 10 at once, then one a minute.'],
  'tokens-max': [422, 'API tokens of one account: 100.'],
  'invitations-max': [422, 'Links to join that one administrator has made and nobody has used: 100.'],
  'acts': [429, 'Audited acts of one account: 7,200 at once, then one every 5 seconds; sign-ins apart.'],
  'content-quota': [507, 'Bytes of the contents of one account’s sources: `CONTENT_QUOTA_BYTES`.'],
  'add-source': [429, 'Feeds that one account adds: 30 at once, then one every 20 seconds.'],
  'add-source-at-once': [503, 'New feeds being fetched for the first time, or waiting for this fetch.'],
  'long-posts': [503, 'Posts of more than 20,000 characters that the hub is parsing, or that wait to be parsed.'],
  'sources-max': [422, 'Sources of one account: `SOURCES_MAX`.'],
  'transfers': [429, 'Sources that one account transfers or offers: 60 at once, then one every 20 seconds.'],
  'offers-open': [422, 'Sources that one account offers to members at the same time: 10.'],
  'follows-max': [422, 'Other accounts’ sources in one reading list: `SOURCES_MAX`.'],
  'opml-feeds': [422, 'Feeds of one OPML document: 5,000.'],
  'imports-at-once': [429, 'Imports of OPML of one account that are under way: 5.'],
  'read-marks': [422, 'Posts that one account has marked one by one, not with their whole source: 20,000.'],
  'sync-now': [429, 'Synchronisations that one account asks for: 10 at once, then one a minute.'],
  'webhook-rate': [429, 'Events of one webhook: 10,000 at once, then 100 a second.'],
  'uploads-at-once': [429, 'Forms with files that one account sends at the same time: 6.'],
  'upload-quota': [422, 'Bytes of the files of one account: `UPLOAD_QUOTA_BYTES`.'],
  'files-of-post': [422, 'Files of one post: 100.'],
  'free-space': [507, 'Writes while free space is below `DISK_RESERVE_BYTES`.'],
  'cache-fetches': [503, 'Remote files fetched or waiting: 200; for one account’s sources 100, from one host 40.'],
  'turns': [503, 'Waiting requests of one client: 1,000, or 10 while 2,000 requests of all members or networks wait.'],
  'probes': [429, 'Requests for health or metrics from one address or IPv6 /56: 100 a second; from a /48 200.'],
  'connections': [503, 'Connections at once: 2,000; from one address 100, from an IPv6 /56 200, from a /48 400.'],
  'body-size': [413, 'Bytes of a request: forms 64 KiB, JSON 1 MiB, posts 2.5 MiB, OPML 4 MiB; not signed in 16 KiB.'],
  'body-pieces': [413, 'Pieces that a request body arrives in: 256, or one for each 32 bytes; more are cut off.'],
  'answers': [503, 'Replies not yet read by clients: 96 MiB; a client with over 8 MiB may have 100 waiting requests.'],
  'bodies': [503, 'Request bodies in memory: 48 MiB; of one account or address 16 MiB, of an IPv6 /48 32 MiB.'],
} as const satisfies Record<string, readonly [status: 413 | 422 | 429 | 503 | 507, meaning: string]>;

export type LimitName = keyof typeof LIMITS;

/** A rate limit whose refusals are counted. */
export type NamedLimit = Limit & { name: LimitName };
