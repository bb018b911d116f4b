import type { Db } from '../../platform/db/open-database.ts';

/** An account that has left; `name` stands where its own names stood. */
type Leaver = { id: number; name: string };
type Step = Leaver & { limit: number };

/** Takes the names of those who left out of the audit records. What was done, and when, stays. */
export function createLeaverStore(db: Db) {
  // What somebody named (a token, a post, a file, a source) may hold a name as well; only kind and id of it stay.
  const hideActor = db.prepare<[Step]>('hide actor', `
    UPDATE audit_records SET actor_id = NULL, actor_name = @name, address = NULL,
           target_name = CASE WHEN target_kind IN ('account', 'invitation', 'job') THEN target_name END,
           detail = json_remove(detail, '$.title')
     WHERE id IN (SELECT id FROM audit_records WHERE actor_id = @id LIMIT @limit)`);
  const hideTarget = db.prepare<[Step]>('hide target', `
    UPDATE audit_records SET target_id = NULL, target_name = @name
     WHERE id IN (SELECT id FROM audit_records WHERE target_kind = 'account' AND target_id = @id LIMIT @limit)`);

  return {
    /** Of up to `limit` records each by and about the account; returns how many at most are done of one of the two. */
    hideNames(leaver: Leaver, limit: number): number {
      const step = { ...leaver, limit };
      return Math.max(hideActor.run(step).changes, hideTarget.run(step).changes);
    },
  };
}
