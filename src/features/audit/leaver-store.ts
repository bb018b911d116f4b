import { store } from '../hub/hub.ts';

/** An account that has left; `name` stands where its own names stood. */
export type Leaver = { id: number; name: string };

/** What somebody owned. */
export type Thing = { kind: 'source' | 'post'; id: number };

/**
 * Takes the names of those who left, and of what they had, out of the audit records. What was done, and when, stays.
 */
export const leavers = store(({ db }) => {
  const own = 'SELECT id FROM audit_records WHERE actor_id = @id ORDER BY id LIMIT @limit';
  const selectThings = db.prepare<[{ id: number; limit: number }], Thing>('things that an account acted on', `
    SELECT DISTINCT target_kind AS kind, target_id AS id FROM audit_records
     WHERE id IN (${own}) AND target_kind IN ('source', 'post') AND target_id IS NOT NULL`);
  const ofThing = 'about.target_kind = @kind AND about.target_id = @thingId';
  const madeByAnother = `SELECT 1 FROM audit_records about
    WHERE ${ofThing} AND about.act = @kind || '.created' AND about.actor_id <> @id`;
  const givenToLeaver = `SELECT 1 FROM audit_records about
    WHERE ${ofThing} AND about.act = 'source.transferred' AND json_extract(about.detail, '$.to') = @id`;
  const hideTitle = db.prepare<[{ id: number; kind: Thing['kind']; thingId: number }]>('hide title of a thing', `
    UPDATE audit_records AS about SET target_name = NULL, detail = json_remove(detail, '$.title')
     WHERE ${ofThing} AND actor_id IS NOT @id AND target_name IS NOT NULL
       AND (NOT EXISTS (${madeByAnother}) OR EXISTS (${givenToLeaver}))`);
  // What somebody named (a token, a post, a file, a source) may hold a name as well; only kind and id of it stay.
  const hideActor = db.prepare<[Leaver & { limit: number }]>('hide actor', `
    UPDATE audit_records SET actor_id = NULL, actor_name = @name, address = NULL,
           target_name = CASE WHEN target_kind IN ('account', 'invitation', 'job') THEN target_name END,
           detail = json_remove(detail, '$.title')
     WHERE id IN (${own})`);
  const hideTarget = db.prepare<[Leaver & { limit: number }]>('hide target', `
    UPDATE audit_records SET target_id = NULL, target_name = @name
     WHERE id IN (SELECT id FROM audit_records WHERE target_kind = 'account' AND target_id = @id LIMIT @limit)`);

  return {
    /** What those records are about from which `hideNames` will next take the account's name. */
    thingsOf: (id: number, limit: number): Thing[] => selectThings.all({ id, limit }),

    /** In records of what others did to a thing, unless it was never the leaver's: another made it and kept it. */
    hideTitle: (id: number, { kind, id: thingId }: Thing): void => void hideTitle.run({ id, kind, thingId }),

    /** In up to `limit` records by the account and as many about it; returns the larger of both numbers. */
    hideNames(leaver: Leaver, limit: number): number {
      const step = { ...leaver, limit };
      return Math.max(hideActor.run(step).changes, hideTarget.run(step).changes);
    },
  };
});
