import type { Db } from '../../platform/db/open-database.ts';

/** An account that has left; `name` stands where its own names stood. */
type Leaver = { id: number; name: string };
type Step = Leaver & { limit: number };

/**
 * Takes the names of those who left, and of what they had, out of the audit records. What was done, and when, stays.
 */
export function createLeaverStore(db: Db) {
  const own = 'SELECT id FROM audit_records WHERE actor_id = @id ORDER BY id LIMIT @limit';
  // SQLite gives the numbers of deleted ones again: of the last one that was made before, and of none made in between.
  const madeByAnother = `SELECT 1 FROM audit_records made
    WHERE made.id = (SELECT MAX(id) FROM audit_records
                      WHERE target_kind = mine.target_kind AND target_id = mine.target_id AND id <= mine.id
                        AND act = mine.target_kind || '.created')
      AND made.actor_id <> @id`;
  const madeBetween = `SELECT 1 FROM audit_records made
    WHERE made.target_kind = mine.target_kind AND made.target_id = mine.target_id
      AND made.act = mine.target_kind || '.created'
      AND made.id > MIN(mine.id, others.id) AND made.id <= MAX(mine.id, others.id)`;
  const givenToLeaver = `SELECT 1 FROM audit_records given
    WHERE given.target_kind = 'source' AND given.target_id = mine.target_id
      AND given.act = 'source.transferred' AND json_extract(given.detail, '$.to') = @id`;
  // What others did to sources and posts that are gone with their owner: their titles may hold a name too.
  const hideThings = db.prepare<[Step]>('hide things of actor', `
    UPDATE audit_records SET target_name = NULL, detail = json_remove(detail, '$.title')
     WHERE id IN (SELECT others.id FROM audit_records mine CROSS JOIN audit_records others
                      ON others.target_kind = mine.target_kind AND others.target_id = mine.target_id
                   WHERE mine.id IN (${own}) AND +mine.target_kind IN ('source', 'post')
                     AND others.actor_id IS NOT @id AND others.target_name IS NOT NULL
                     AND NOT EXISTS (${madeBetween})
                     AND (NOT EXISTS (${madeByAnother}) OR mine.target_kind = 'source' AND EXISTS (${givenToLeaver}))
                     AND NOT EXISTS (SELECT 1 FROM sources s WHERE mine.target_kind = 'source'
                                        AND s.id = mine.target_id AND s.owner_id <> @id)
                     AND NOT EXISTS (SELECT 1 FROM posts p WHERE mine.target_kind = 'post'
                                        AND p.id = mine.target_id AND p.owner_id <> @id))`);
  // What somebody named (a token, a post, a file, a source) may hold a name as well; only kind and id of it stay.
  const hideActor = db.prepare<[Step]>('hide actor', `
    UPDATE audit_records SET actor_id = NULL, actor_name = @name, address = NULL,
           target_name = CASE WHEN target_kind IN ('account', 'invitation', 'job') THEN target_name END,
           detail = json_remove(detail, '$.title')
     WHERE id IN (${own})`);
  const hideTarget = db.prepare<[Step]>('hide target', `
    UPDATE audit_records SET target_id = NULL, target_name = @name
     WHERE id IN (SELECT id FROM audit_records WHERE target_kind = 'account' AND target_id = @id LIMIT @limit)`);

  return {
    /** Of up to `limit` records each by and about the account; returns how many at most are done of one of the two. */
    hideNames(leaver: Leaver, limit: number): number {
      const step = { ...leaver, limit };
      hideThings.run(step); // of the records that lose their actor now
      return Math.max(hideActor.run(step).changes, hideTarget.run(step).changes);
    },
  };
}
