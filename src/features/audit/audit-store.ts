import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { RecordAct } from '../../platform/record-act.ts';

type AuditRow = {
  at: number;
  act: string;
  actorId: number | null;
  actorName: string;
  targetKind: string | null;
  targetId: number | null;
  targetName: string | null;
  address: string | null;
  detail: string;
};

/** Who did what to what, for admins to read later. */
export function createAuditStore(db: Db, clock: Clock): { record: RecordAct } {
  const insert = db.prepare<[AuditRow]>('record act', `
    INSERT INTO audit_records (at, act, actor_id, actor_name, target_kind, target_id, target_name, address, detail)
    VALUES (@at, @act, @actorId, @actorName, @targetKind, @targetId, @targetName, @address, @detail)`);

  const record: RecordAct = (act, actor, target, detail = {}) => void insert.run({
    at: clock(),
    act,
    actorId: actor.id,
    actorName: actor.name,
    targetKind: target?.kind ?? null,
    targetId: target?.id ?? null,
    targetName: target?.name ?? null,
    address: actor.address,
    detail: JSON.stringify(detail),
  });

  return { record };
}
