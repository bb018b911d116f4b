import { DAY, isoTime, parseIsoTime } from '../../platform/clock.ts';
import {
  anything, choice, id, integer, madeOf, named, noted, object, orNull, text, time,
} from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { parseId } from '../../platform/http/input.ts';
import { type HttpError, invalid } from '../../platform/http/http-error.ts';
import { details, inputField, optionOf, selectField } from '../../platform/http/page-parts.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { adminList } from '../hub/lists.ts';
import { AUDIT_EVENTS, type AuditEvent } from './audit.ts';
import { auditRecords, type AuditFilter, type AuditRecord } from './audit-store.ts';

/** For the API, and for the export of an account. */
export const AUDIT_RECORD = named('AuditRecord', madeOf(object({
  id, at: time, act: text, actor: object({ id: orNull(id), name: text }),
  target: orNull(object({ kind: text, id: orNull(id), name: orNull(text) })), address: orNull(text), detail: anything,
  count: noted(integer, 'Number of equal acts of the actor on the target within a minute'),
}), ({ actorId, actorName, targetKind, targetId, targetName, detail, ...record }: AuditRecord) => ({
  ...record, actor: { id: actorId, name: actorName }, detail: JSON.parse(detail) as object,
  target: targetKind === null ? null : { kind: targetKind, id: targetId, name: targetName },
})));

export const auditList = adminList<AuditRecord, 'at' | 'id', AuditFilter>({
  name: 'audit',
  title: 'Audit log',
  summary: 'Audit events, newest first; act, actor, target, from and to filter them',
  key: ['at', 'id'],
  select: (hub, { filter, after, limit }) => auditRecords(hub).list(filter, after, limit),
  filter: {
    read: readAuditFilter,
    query: {
      act: choice(Object.keys(AUDIT_EVENTS)), actor: noted(text, 'Name of the actor'),
      target: noted(text, 'Only acts on targets of this kind (source), or on this one target (source:12)'),
      from: noted(text, 'Only events from this day or time on'),
      to: noted(text, 'Only events until this day (inclusive) or time'),
    },
    controls: (_hub, query, _filter, problem) => auditForm(query, problem),
  },
  shape: AUDIT_RECORD,
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
    count: ({ count }) => count,
  },
  rows: auditTable,
  empty: 'No matching events.',
});

function auditForm(query: URLSearchParams, problem: HttpError | undefined): Html {
  const chosen = query.get('act') ?? '';
  const sent = { values: Object.fromEntries(query), problem };
  const isNarrowed = ['act', 'actor', 'target', 'from', 'to'].some((name) => query.get(name));
  const acts = Object.entries(AUDIT_EVENTS).map(([act, said]) => optionOf(act, said, chosen));
  return details('Filter', html`
<form class="filter" action="/admin/audit">
  ${selectField(problem, 'act', 'Action', html`<option value="">all</option>${acts}`)}
  ${inputField(sent, 'actor', 'Actor', html`maxlength="200" autocapitalize="none"`)}
  ${inputField(sent, 'target', 'Target', html`maxlength="200" placeholder="source:12" autocapitalize="none"`)}
  ${inputField(sent, 'from', 'From day', html`type="date"`, { value: day(query.get('from')) })}
  ${inputField(sent, 'to', 'To day', html`type="date"`, { value: day(query.get('to')) })}
  <button>Apply</button>
</form>`, { isOpen: isNarrowed, look: 'panel' });
}

function day(value: string | null): string {
  return (value ?? '').slice(0, 10);
}

function auditTable(items: AuditRecord[], times: Times): Html {
  return html`
<div class="wide stacked"><table>
  <thead><tr><th>Time</th><th>Actor</th><th>Action</th><th>Target</th><th>Address</th></tr></thead>
  <tbody>${items.map((one) => row(one, times))}</tbody>
</table></div>`;
}

function row(record: AuditRecord, times: Times): Html {
  const { at, actorName, act, targetKind, targetId, targetName, address, detail, count } = record;
  const said = AUDIT_EVENTS[act as AuditEvent] ?? '';
  const target = targetKind === null ? '' : `${targetKind}${targetId === null ? '' : ` ${targetId}`}`;
  return html`
  <tr><td>${showTime(times, at, 'exact')}</td><td>${actorName || 'not signed in'}</td>
    <td>${said}${count > 1 && `, ${count} times within a minute`} <small><code>${act}</code></small></td>
    <td>${target} ${targetName && html`<span>“${targetName}”</span>`}
      ${detail !== '{}' && html`<small>${words(detail)}</small>`}</td>
    <td class="whole">${address}</td></tr>`;
}

function words(detail: string): string {
  return Object.entries(JSON.parse(detail) as object).map(([name, value]) => `${name}: ${value}`).join(', ');
}

/** `target` is `source`, for example, or `source:12`. If `to` is a day, records of this whole day match. Throws 400. */
function readAuditFilter(query: URLSearchParams): AuditFilter {
  const act = textOf(query, 'act');
  const actor = textOf(query, 'actor');
  const from = momentOf(query, 'from', 0);
  const to = momentOf(query, 'to', 1);
  return {
    ...(act && { act }), ...(actor && { actor }), ...target(textOf(query, 'target')),
    ...(from !== undefined && { from }), ...(to !== undefined && { to }),
  };
}

function textOf(query: URLSearchParams, name: string): string {
  const value = (query.get(name) ?? '').trim();
  if (value.length > 200) throw refused(name, 'is too long.');
  return value;
}

function target(value: string): Pick<AuditFilter, 'targetKind' | 'targetId'> {
  if (!value) return {};
  const [targetKind = '', written, ...rest] = value.split(':');
  if (written === undefined) return { targetKind };
  const targetId = parseId(written);
  if (targetId !== undefined && rest.length === 0) return { targetKind, targetId };
  throw refused('target', 'must be a kind such as source, or a kind and an id such as source:12.');
}

function refused(name: string, detail: string): HttpError {
  const said = `${name.charAt(0).toUpperCase()}${name.slice(1)} ${detail}`;
  return invalid([{ pointer: `/${name}`, detail: said }], 400);
}

const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/;

/** Parses a time in a query to unix ms. A date without a time of day becomes 0:00 UTC, `daysOn` days after the date. */
function momentOf(query: URLSearchParams, name: string, daysOn: number): number | undefined {
  const value = textOf(query, name);
  if (!value) return undefined;
  const isDay = DAY_ONLY.test(value);
  const at = parseIsoTime(isDay ? `${value}T00:00:00Z` : value);
  if (at === null) throw refused(name, 'must be a day (2030-01-31) or an RFC 3339 time.');
  return isDay ? at + daysOn * DAY : at;
}
