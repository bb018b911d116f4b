import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, page, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route } from '../../platform/http/router.ts';
import { auditJson } from './audit-json.ts';
import type { AuditStore } from './audit-store.ts';
import { auditPage } from './audit-views.ts';
import { auditAsCsv, auditAsJsonLines } from './export-audit.ts';
import { readAuditFilter } from './read-filter.ts';

const FORMATS = {
  csv: { write: auditAsCsv, type: 'text/csv; charset=utf-8' },
  jsonl: { write: auditAsJsonLines, type: 'application/x-ndjson; charset=utf-8' },
};

/** The audit records, for administrators: to look through and to take along. */
export function auditRoutes({ audit }: { audit: AuditStore }): Route[] {
  return [
    route(
      'GET /api/admin/audit', 'admin', 'Audit records, newest first; act, actor, target, from and to filter them; ' +
      'format=csv or jsonl downloads all that fit', list,
    ),
    route('GET /admin/audit', 'admin', 'Page: audit records', show),
  ];

  function list(req: HubRequest): Reply {
    const format = req.query.get('format') ?? 'json';
    if (format === 'csv' || format === 'jsonl') return download(req, format);
    if (format !== 'json') throw new HttpError(400, 'format must be one of json, jsonl, csv.');
    const { items, next } = readPage(req);
    return json({ items: items.map(auditJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function download({ query }: HubRequest, format: keyof typeof FORMATS): Reply {
    const { write, type } = FORMATS[format];
    const headers = { 'content-type': type, 'content-disposition': `attachment; filename="audit.${format}"` };
    return { status: 200, headers, body: write(audit, readAuditFilter(query)) };
  }

  function readPage({ query }: HubRequest) {
    const limit = readLimit(query);
    const [at, id] = readCursor(query, 2) ?? [];
    const after = at === undefined || id === undefined ? undefined : { at, id };
    const rows = audit.list(readAuditFilter(query), after, limit + 1);
    return pageOf(rows, limit, (last) => cursorOf(last.at, last.id));
  }

  function show(req: HubRequest): Reply {
    return page(auditPage({ ...readPage(req), query: req.query, acts: audit.acts() }));
  }
}
