import { Readable } from 'node:stream';
import { inBatches } from '../../platform/read-in-batches.ts';
import { auditJson } from './audit-json.ts';
import type { Hub } from '../hub/hub.ts';
import { auditRecords, type AuditFilter, type AuditRecord } from './audit-store.ts';

const BATCH = 500;

/** All records that fit, newest first, one JSON object a line. */
export function auditAsJsonLines(hub: Hub, filter: AuditFilter): Readable {
  return Readable.from(written(hub, filter, '', (record) => `${JSON.stringify(auditJson(record))}\n`));
}

/** The same as CSV (RFC 4180), with names of columns. */
export function auditAsCsv(hub: Hub, filter: AuditFilter): Readable {
  const head = 'id,at,act,actor_id,actor,target_kind,target_id,target,address,detail\r\n';
  return Readable.from(written(hub, filter, head, csvLine));
}

function* written(
  hub: Hub, filter: AuditFilter, head: string, line: (record: AuditRecord) => string,
): Generator<string> {
  if (head) yield head;
  const rows = inBatches<AuditRecord>((last) => auditRecords(hub).list(filter, last, BATCH));
  let lines = '';
  for (const record of rows) {
    lines += line(record);
    if (lines.length < 16_384) continue;
    yield lines;
    lines = '';
  }
  yield lines;
}

function csvLine(record: AuditRecord): string {
  const { id, at, act, actorId, actorName, targetKind, targetId, targetName, address, detail } = record;
  const fields = [
    id, new Date(at).toISOString(), act, actorId, actorName, targetKind, targetId, targetName, address, detail,
  ];
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** A text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection"). */
function csvField(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
