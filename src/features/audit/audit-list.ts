import { isoTime } from '../../platform/clock.ts';
import { adminList } from '../hub/admin-list.ts';
import { auditRecords, type AuditFilter, type AuditRecord } from './audit-store.ts';
import { auditForm, auditTable } from './audit-views.ts';
import { readAuditFilter } from './read-filter.ts';

/** Who did what to what, and when. */
export const auditList = adminList<AuditRecord, 'at' | 'id', AuditFilter>({
  name: 'audit',
  title: 'Audit log',
  summary: 'Audit events, newest first; act, actor, target, from and to filter them; ' +
    'format=csv or jsonl downloads all that fit',
  key: ['at', 'id'],
  select: (hub, after, limit, filter) => auditRecords(hub).list(filter, after, limit),
  filter: {
    read: readAuditFilter,
    controls: (hub, query) => auditForm(query, auditRecords(hub).acts()),
  },
  toJson: auditJson,
  csv: {
    id: ({ id }) => id,
    at: ({ at }) => isoTime(at),
    act: ({ act }) => act,
    actor_id: ({ actorId }) => actorId,
    actor: ({ actorName }) => actorName,
    target_kind: ({ targetKind }) => targetKind,
    target_id: ({ targetId }) => targetId,
    target: ({ targetName }) => targetName,
    address: ({ address }) => address,
    detail: ({ detail }) => detail,
  },
  view: auditTable,
  empty: 'No matching events.',
});

/** An audit record as the API shows it, and the export of what an account did. */
export function auditJson(record: AuditRecord) {
  const { id, at, act, actorId, actorName, targetKind, targetId, targetName, address, detail } = record;
  return {
    id,
    at: isoTime(at),
    act,
    actor: { id: actorId, name: actorName },
    target: targetKind === null ? null : { kind: targetKind, id: targetId, name: targetName },
    address,
    detail: JSON.parse(detail) as Record<string, unknown>,
  };
}
