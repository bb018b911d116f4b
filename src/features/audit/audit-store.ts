import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { ActTarget, Actor, RecordAct } from '../../platform/record-act.ts';

type Params = [number, string, number | null, string, string | null, number | null, string | null, string | null, string];

/** Who did what to what, for admins to read later. */
export function createAuditStore(db: Db, clock: Clock): { record: RecordAct } {
  const insert = db.prepare<Params>('record act', `
    INSERT INTO audit_records (at, act, actor_id, actor_name, target_kind, target_id, target_name, address, detail)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);

  function record(act: string, actor: Actor, target?: ActTarget, detail = {}): void {
    insert.run(
      clock(), act, actor.id, actor.name,
      target?.kind ?? null, target?.id ?? null, target?.name ?? null,
      actor.address, JSON.stringify(detail),
    );
  }

  return { record };
}
