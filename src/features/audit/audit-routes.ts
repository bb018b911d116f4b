import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { auditJson } from './audit-json.ts';
import type { Hub } from '../hub/hub.ts';
import { auditRecords } from './audit-store.ts';
import { auditPage } from './audit-views.ts';
import { auditAsCsv, auditAsJsonLines } from './export-audit.ts';
import { readAuditFilter } from './read-filter.ts';

const FORMATS = {
  csv: { write: auditAsCsv, type: 'text/csv; charset=utf-8' },
  jsonl: { write: auditAsJsonLines, type: 'application/x-ndjson; charset=utf-8' },
};

export function listAudit(hub: Hub, req: HubRequest): Reply {
  const format = req.query.get('format') ?? 'json';
  if (format === 'csv' || format === 'jsonl') return download(hub, req, format);
  if (format !== 'json') throw new HttpError(400, 'format must be one of json, jsonl, csv.');
  const { items, next } = readPage(hub, req);
  return json({ items: items.map(auditJson), next }, 200, nextLink(req.path, req.query, next));
}

function download(hub: Hub, { query }: HubRequest, format: keyof typeof FORMATS): Reply {
  const { write, type } = FORMATS[format];
  const headers = { 'content-type': type, 'content-disposition': `attachment; filename="audit.${format}"` };
  return { status: 200, headers, body: write(hub, readAuditFilter(query)) };
}

function readPage(hub: Hub, { query }: HubRequest) {
  const limit = readLimit(query);
  const [at, id] = readCursor(query, 2) ?? [];
  const after = at === undefined || id === undefined ? undefined : { at, id };
  const rows = auditRecords(hub).list(readAuditFilter(query), after, limit + 1);
  return pageOf(rows, limit, (last) => cursorOf(last.at, last.id));
}

export function showAudit(hub: Hub, req: HubRequest): Reply {
  return page(auditPage({ ...readPage(hub, req), query: req.query, acts: auditRecords(hub).acts() }));
}
