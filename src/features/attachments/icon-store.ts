import { DAY, HOUR } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { store } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';

export type Icon = { sha256: string; mediaType: string; content: Buffer };

/** A source whose icon is to be looked for, and what its feed names as such. */
type DueIcon = { sourceId: number; ownerId: number; isWell: number };

/** How often a site is asked for its icon, whether or not it has one. */
const ASKED_EVERY = 7 * DAY;

/** Some feeds name another address each time. */
const ASKED_AFTER_CHANGE = DAY;

const TIMES: StoredTime[] = [{ table: 'source_icons', column: 'due_at', furthest: ASKED_EVERY + HOUR }];

/** The icons of sources, and when they are looked for. */
export const sourceIcons = store(({ db, clock }) => {
  const sql = prepareIcons(db);
  return {
    bringBackTimes: createTimeRepair(db, clock, TIMES),
    /** The hash of the source's icon, if it has one. */
    hashOf: (sourceId: number): string | undefined => sql.hashOf.get(sourceId)?.sha256,
    /** The same of several, by source. */
    hashesOf: (sourceIds: number[]): Map<number, string> =>
      new Map(sql.hashesOf.all(JSON.stringify(sourceIds)).map(({ sourceId, sha256 }) => [sourceId, sha256])),
    find: (sourceId: number): Icon | undefined => sql.find.get(sourceId),
    /** What the feed names as its icon. */
    namedBy: (sourceId: number): string | null => sql.namedBy.get(sourceId)?.url ?? null,
    isCleared: (sourceId: number): boolean => sql.isCleared.get(sourceId) !== undefined,

    /** A feed was read, and names this as its icon or nothing. In the caller's transaction, as all that follow. */
    noteNamed: (sourceId: number, url: string | null): void =>
      void sql.noteNamed.run({ sourceId, url, now: clock(), later: clock() + ASKED_AFTER_CHANGE }),
    /** Takes up to `limit` that are due, of each owner in turn. They are due again in a week, whatever comes of it. */
    takeDue(limit: number): DueIcon[] {
      const due = sql.due.all(clock(), limit);
      for (const { sourceId } of due) sql.postpone.run(clock() + ASKED_EVERY, sourceId);
      return due;
    },
    /** Not where its owner has said meanwhile that there is to be none. */
    keep(sourceId: number, icon: Icon): void {
      if (!sql.isWanted.get(sourceId)) return;
      sql.insert.run(icon);
      sql.give.run(icon.sha256, sourceId);
    },
    /** None from now on. */
    clear: (sourceId: number): void => void sql.clear.run(sourceId),
    /** Looked for again, as soon as there is time. */
    want: (sourceId: number): void => void sql.want.run(clock(), sourceId),
  };
});

function prepareIcons(db: Db) {
  return {
    hashOf: db.prepare<[number], { sha256: string }>('icon of source',
      'SELECT sha256 FROM source_icons WHERE source_id = ? AND sha256 IS NOT NULL'),
    hashesOf: db.prepare<[string], { sourceId: number; sha256: string }>('icons of sources', `
      SELECT source_id AS sourceId, sha256 FROM source_icons
       WHERE source_id IN (SELECT value FROM json_each(?)) AND sha256 IS NOT NULL`),
    find: db.prepare<[number], Icon>('icon', `
      SELECT i.sha256, i.media_type AS mediaType, i.content
        FROM source_icons s JOIN icons i ON i.sha256 = s.sha256 WHERE s.source_id = ?`),
    namedBy: db.prepare<[number], { url: string | null }>('icon that a feed names',
      'SELECT named_url AS url FROM source_icons WHERE source_id = ?'),
    isCleared: db.prepare<[number], object>('whether a source is to have no icon',
      'SELECT 1 FROM source_icons WHERE source_id = ? AND due_at IS NULL'),
    isWanted: db.prepare<[number], object>('whether a source may have an icon',
      'SELECT 1 FROM source_icons WHERE source_id = ? AND due_at IS NOT NULL'),
    noteNamed: db.prepare<[{ sourceId: number; url: string | null; now: number; later: number }]>('note named icon', `
      INSERT INTO source_icons (source_id, named_url, due_at) VALUES (@sourceId, @url, @now)
      ON CONFLICT DO UPDATE SET named_url = @url, due_at = min(due_at, @later) WHERE named_url IS NOT @url`),
    // A source that cannot be read now is asked for nothing else; in a week it may be well.
    due: db.prepare<[number, number], DueIcon>('icons that are due', `
      SELECT sourceId, ownerId, isWell FROM (
        SELECT s.id AS sourceId, s.owner_id AS ownerId, s.state = 'active' AS isWell, i.due_at AS dueAt,
               row_number() OVER (PARTITION BY s.owner_id ORDER BY i.due_at) AS turn
          FROM source_icons i ${joinSource('i.source_id')}
         WHERE i.due_at <= ?)
       ORDER BY turn, dueAt LIMIT ?`),
    postpone: db.prepare<[number, number]>('postpone icon', 'UPDATE source_icons SET due_at = ? WHERE source_id = ?'),
    insert: db.prepare<[Icon]>('keep icon', `
      INSERT INTO icons (sha256, media_type, content) VALUES (@sha256, @mediaType, @content) ON CONFLICT DO NOTHING`),
    give: db.prepare<[string, number]>('give icon', 'UPDATE source_icons SET sha256 = ? WHERE source_id = ?'),
    clear: db.prepare<[number]>('clear icon', `
      INSERT INTO source_icons (source_id) VALUES (?) ON CONFLICT DO UPDATE SET sha256 = NULL, due_at = NULL`),
    want: db.prepare<[number, number]>('want icon', 'UPDATE source_icons SET due_at = ? WHERE source_id = ?'),
  };
}
