import { DAY, HOUR } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createTimeRepair } from '../../platform/jobs/scheduler.ts';
import { store } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';

export type Icon = { sha256: string; mediaType: string; content: Buffer };

export type StoredIcon = { sourceId: number; sha256: string; bytes: number };

/** A source whose icon is due. `isWell`: 1 if the source is neither failing nor paused. */
type DueIcon = { sourceId: number; ownerId: number; isWell: number };

/** A source's icon is due again after this time, even if none was found. */
const ASKED_EVERY = 7 * DAY;

/** A feed may name another icon address each time: a change makes the icon due this much later, unless due sooner. */
const ASKED_AFTER_CHANGE = DAY;

export const sourceIcons = store(({ db, clock }) => {
  const sql = prepareIcons(db);
  const listOf = (sourceIds: number[]): Map<number, StoredIcon> =>
    new Map(sql.list.all(JSON.stringify(sourceIds)).map((icon) => [icon.sourceId, icon]));

  return {
    bringBackTimes: createTimeRepair(db, clock, [
      { table: 'source_icons', column: 'due_at', furthest: ASKED_EVERY + HOUR },
    ]),
    hashOf: (sourceId: number): string | undefined => listOf([sourceId]).get(sourceId)?.sha256,
    /** By source id, without the sources that have no icon. */
    listOf,
    find: db.prepare<[sourceId: number], Icon>('icon', `
      SELECT i.sha256, i.media_type AS mediaType, i.content
        FROM source_icons s JOIN icons i ON i.sha256 = s.sha256 WHERE s.source_id = ?`).get,
    namedBy: (sourceId: number): string | null => sql.namedBy.get(sourceId)?.url ?? null,
    isCleared: sql.isCleared.has,

    /** Notes the icon address that a feed names. */
    noteNamed: (sourceId: number, url: string | null): void =>
      void sql.noteNamed.run({ sourceId, url, now: clock(), later: clock() + ASKED_AFTER_CHANGE }),
    /** Returns up to `limit` due icons, the owners in turn, and makes each due again after ASKED_EVERY. */
    takeDue(limit: number): DueIcon[] {
      const due = sql.due.all(clock(), limit);
      for (const { sourceId } of due) sql.postpone.run(clock() + ASKED_EVERY, sourceId);
      return due;
    },
    /** Stores the icon of a source, unless somebody has removed the icon while it was fetched. */
    keep(sourceId: number, icon: Icon): void {
      if (!sql.isWanted.get(sourceId)) return;
      sql.insert.run(icon);
      sql.give.run(icon.sha256, sourceId);
    },
    clear: db.prepare<[sourceId: number]>('clear icon', `
      INSERT INTO source_icons (source_id) VALUES (?) ON CONFLICT DO UPDATE SET sha256 = NULL, due_at = NULL`).run,
    want: (sourceId: number): void => void sql.want.run(clock(), sourceId),
  };
});

function prepareIcons(db: Db) {
  return {
    list: db.prepare<[string], StoredIcon>('icons of sources', `
      SELECT s.source_id AS sourceId, i.sha256, length(i.content) AS bytes
        FROM source_icons s JOIN icons i ON i.sha256 = s.sha256
       WHERE s.source_id IN (SELECT value FROM json_each(?))`),
    namedBy: db.prepare<[number], { url: string | null }>('icon that a feed names',
      'SELECT named_url AS url FROM source_icons WHERE source_id = ?'),
    isCleared: db.prepare<[sourceId: number], object>('whether a source is to have no icon',
      'SELECT 1 FROM source_icons WHERE source_id = ? AND due_at IS NULL'),
    isWanted: db.prepare<[number], object>('whether a source may have an icon',
      'SELECT 1 FROM source_icons WHERE source_id = ? AND due_at IS NOT NULL'),
    noteNamed: db.prepare<[{ sourceId: number; url: string | null; now: number; later: number }]>('note named icon', `
      INSERT INTO source_icons (source_id, named_url, due_at) VALUES (@sourceId, @url, @now)
      ON CONFLICT DO UPDATE SET named_url = @url, due_at = min(due_at, @later) WHERE named_url IS NOT @url`),
    // The caller fetches no icons for failing or paused sources: these icons are due again after ASKED_EVERY.
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
    want: db.prepare<[number, number]>('want icon', 'UPDATE source_icons SET due_at = ? WHERE source_id = ?'),
  };
}
