import type { AuditRecord } from './audit-store.ts';

/** An audit record as the API shows it. */
export function auditJson(record: AuditRecord) {
  const { id, at, act, actorId, actorName, targetKind, targetId, targetName, address, detail } = record;
  return {
    id,
    at: new Date(at).toISOString(),
    act,
    actor: { id: actorId, name: actorName },
    target: targetKind === null ? null : { kind: targetKind, id: targetId, name: targetName },
    address,
    detail: JSON.parse(detail) as Record<string, unknown>,
  };
}
