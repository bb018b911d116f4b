import { randomBytes } from 'node:crypto';
import { DAY, HOUR } from '../../platform/clock.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { store } from '../hub/hub.ts';
import { TITLE_MAX, type SourceState } from './source-store.ts';

export const SYNC_SOURCE = 'sync-source';

export type Validators = { etag: string | null; lastModified: string | null; bodyHash: string | null };

export type SyncState = Validators & {
  sourceId: number;
  state: SourceState;
  failures: number;
  lastSuccessAt: number | null;
  url: string;
  ttl: number | null; // ms between two fetches that the feed document last asked for
  guidPrefix: string; // random text before the publisher's post ids; '' until somebody changes the feed's address
  timedOut: number; // 1 if the last synchronisation timed out
};

export type FeedFacts = {
  title: string;
  description: string | null;
  siteUrl: string | null;
  iconUrl: string | null;
  ttl: number | null; // the pause between two fetches that the feed's publisher asks for, in ms
};

type FailedTry = { isFinal: boolean; timedOut: boolean };

type DueSource = { sourceId: number; ownerId: number; host: string; isWell: number };

/** Time after which a source is due again if its job never ends; a job that ends sets the next time itself. */
const SAFETY_NET = DAY;

/** The latest `next_sync_at` that a correct clock can produce. */
const SYNC_TIMES: StoredTime[] = [{ table: 'sources', column: 'next_sync_at', furthest: SAFETY_NET + HOUR }];

const DESCRIPTION_MAX = 1_000;

export const syncState = store(({ db, clock }) => {
  const select = db.prepare<[sourceId: number], SyncState>('sync state', `
    SELECT s.id AS sourceId, s.state, s.failures, s.last_success_at AS lastSuccessAt,
           f.url, f.etag, f.last_modified AS lastModified, f.body_hash AS bodyHash, f.ttl,
           f.timed_out AS timedOut, f.guid_prefix AS guidPrefix
      FROM sources s JOIN feeds f ON f.source_id = s.id WHERE s.id = ? AND s.removed_at IS NULL`);
  const selectDue = db.prepare<[number, number], DueSource>('due sources', `
    SELECT s.id AS sourceId, s.owner_id AS ownerId, f.host,
           s.state = 'active' AND s.last_success_at IS NOT NULL AS isWell
      FROM sources s JOIN feeds f ON f.source_id = s.id
     WHERE s.next_sync_at <= ?
     ORDER BY s.next_sync_at LIMIT ?`);
  const postpone = db.prepare<[number, number]>('postpone source', 'UPDATE sources SET next_sync_at = ? WHERE id = ?');
  type Success = { sourceId: number; nextSyncAt: number; note: string | null; keepsNote: number; now: number };
  const markSuccess = db.prepare<[Success]>('record sync', `
    UPDATE sources SET state_since = iif(state = 'active', state_since, @now), state = 'active',
           state_reason = iif(@keepsNote AND state = 'active', state_reason, @note),
           failures = 0, last_sync_at = @now, last_success_at = @now, next_sync_at = @nextSyncAt
     WHERE id = @sourceId AND state <> 'paused'`);
  type Failure = { sourceId: number; reason: string; failures: number; now: number };
  const markFailing = db.prepare<[Failure]>('record failed try', `
    UPDATE sources SET state_since = iif(state = 'failing', state_since, @now), state = 'failing',
           state_reason = @reason, last_sync_at = @now, failures = failures + @failures
     WHERE id = @sourceId AND state <> 'paused'`);
  const setTimedOut = db.prepare<[number, number, number]>('note whether a synchronisation timed out',
    'UPDATE feeds SET timed_out = ? WHERE source_id = ? AND timed_out <> ?');
  const plan = db.prepare<[number, number]>('plan next sync',
    `UPDATE sources SET next_sync_at = ? WHERE id = ? AND state <> 'paused'`);
  const setValidators = db.prepare<[string | null, string | null, string | null, number]>('keep validators',
    'UPDATE feeds SET etag = ?, last_modified = ?, body_hash = ? WHERE source_id = ?');
  const setFacts = db.prepare<[string | null, string | null, number | null, number]>('keep feed facts',
    'UPDATE feeds SET site_url = ?, description = ?, ttl = ? WHERE source_id = ?');
  const setTitle = db.prepare<[string, number, string]>('take over the title of a feed',
    'UPDATE sources SET title = ? WHERE id = ? AND title_is_own = 0 AND title <> ?');
  const selectSame = db.prepare<[number, string], { id: number }>('find another source of the owner with this feed', `
    SELECT other.id FROM sources s JOIN sources other ON other.owner_id = s.owner_id AND other.id <> s.id
      JOIN feeds f ON f.source_id = other.id
     WHERE s.id = ? AND f.url = ? AND other.removed_at IS NULL`);
  const setAddress = db.prepare<[string, string, string | null, number]>('change the address of a feed', `
    UPDATE feeds SET url = ?, host = ?, guid_prefix = COALESCE(?, guid_prefix), etag = NULL, last_modified = NULL,
           body_hash = NULL, ttl = NULL, timed_out = 0 WHERE source_id = ?`);
  const startAgain = db.prepare<[{ now: number; id: number }]>('make the feed of a new address due', `
    UPDATE sources SET state_since = iif(state = 'active', state_since, @now), state = 'active', state_reason = NULL,
           failures = 0, next_sync_at = @now, updated_at = @now
     WHERE id = @id AND (state <> 'paused' OR state_reason IS NOT NULL)`);
  // INDEXED BY is needed because after ANALYZE SQLite would sort the whole table: nearly every row is in the index.
  const mostBehind = db.prepare<[], { at: number }>('find the source without a success for longest', `
    SELECT COALESCE(last_success_at, created_at) AS at FROM sources INDEXED BY sources_behind
     WHERE kind = 'feed' AND state <> 'paused' ORDER BY COALESCE(last_success_at, created_at) LIMIT 1`);

  return {
    bringBackTimes: createTimeRepair(db, clock, SYNC_TIMES),
    find: select.get,

    takeDue: (limit: number, enqueue: (due: DueSource) => void): number => db.write('take due sources', () => {
      const now = clock();
      const due = selectDue.all(now, limit);
      for (const source of due) {
        enqueue(source);
        postpone.run(now + SAFETY_NET, source.sourceId);
      }
      return due.length;
    }),

    /** `note`: what is wrong with the feed; undefined: as before, or nothing if it was failing. */
    recordSuccess(sourceId: number, nextSyncAt: number, note: string | null | undefined): void {
      const keepsNote = note === undefined ? 1 : 0;
      markSuccess.run({ sourceId, nextSyncAt, note: note ?? null, keepsNote, now: clock() });
      setTimedOut.run(0, sourceId, 0);
    },

    recordFailure(sourceId: number, reason: string, { isFinal, timedOut }: FailedTry): void {
      markFailing.run({ sourceId, reason, failures: isFinal ? 1 : 0, now: clock() });
      setTimedOut.run(timedOut ? 1 : 0, sourceId, timedOut ? 1 : 0);
    },

    /** Returns when the unpaused feed that is most behind last succeeded or, if it never did, was added (unix ms). */
    mostBehindSince: (): number | undefined => mostBehind.get()?.at,
    planNext: (sourceId: number, at: number): void => void plan.run(at, sourceId),
    keepValidators: (sourceId: number, { etag, lastModified, bodyHash }: Validators): void =>
      void setValidators.run(etag, lastModified, bodyHash, sourceId),

    keepFacts(sourceId: number, { title, siteUrl, description, ttl }: FeedFacts): void {
      const wait = ttl === null ? null : Math.round(Math.min(ttl, DAY)); // some publishers ask for pauses of centuries
      setFacts.run(siteUrl, description && excerpt(description, DESCRIPTION_MAX), wait, sourceId);
      const short = excerpt(title, TITLE_MAX);
      if (short) setTitle.run(short, sourceId, short);
    },

    /** Changes a feed's address. Returns false without a change if the owner already has a source with that address. */
    move(sourceId: number, url: string): boolean {
      if (selectSame.get(sourceId, url)) return false;
      setAddress.run(url, new URL(url).host, null, sourceId);
      return true;
    },

    /**
     * Gives a feed another address and its future posts new ids, and forgets validators, errors and pauses of the old
     * address. Makes the feed due at once, unless somebody has paused the source.
     */
    changeAddress(sourceId: number, url: string): void {
      setAddress.run(url, new URL(url).host, `${randomBytes(8).toString('hex')}:`, sourceId);
      startAgain.run({ now: clock(), id: sourceId });
    },

    /** Whether `changeAddress` ran since a synchronisation began, or the feed is gone; if so, makes it due again. */
    isElsewhere(sourceId: number, guidPrefix: string): boolean {
      const isElsewhere = select.get(sourceId)?.guidPrefix !== guidPrefix;
      if (isElsewhere) plan.run(clock(), sourceId);
      return isElsewhere;
    },
  };
});
