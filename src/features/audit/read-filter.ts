import { HttpError } from '../../platform/http/problem.ts';
import { parseId } from '../../platform/http/input.ts';
import type { AuditFilter } from './audit-store.ts';

/**
 * `?act=&actor=&target=&from=&to=`: target is a kind or kind:id; from and to are days or moments (RFC 3339), a day as
 * `to` counts to its end. 400 for what cannot be meant.
 */
export function readAuditFilter(query: URLSearchParams): AuditFilter {
  const act = text(query, 'act');
  const actor = text(query, 'actor');
  const from = moment(query, 'from', 0);
  const to = moment(query, 'to', 1);
  return {
    ...(act ? { act } : {}),
    ...(actor ? { actor } : {}),
    ...target(text(query, 'target')),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}

function text(query: URLSearchParams, name: string): string {
  const value = (query.get(name) ?? '').trim();
  if (value.length > 200) throw new HttpError(400, `${name} is too long.`);
  return value;
}

function target(value: string): Pick<AuditFilter, 'targetKind' | 'targetId'> {
  if (!value) return {};
  const [targetKind = '', written, ...rest] = value.split(':');
  if (written === undefined) return { targetKind };
  const targetId = parseId(written);
  if (targetId === undefined || rest.length > 0) throw new HttpError(400, 'target must be a kind, or kind:id.');
  return { targetKind, targetId };
}

const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** Unix ms; of a day its beginning in UTC, so many days on. */
function moment(query: URLSearchParams, name: string, daysOn: number): number | undefined {
  const value = text(query, name);
  if (!value) return undefined;
  const isWritten = DAY_ONLY.test(value) || MOMENT.test(value);
  const at = new Date(isWritten && isDay(value.slice(0, 10)) ? value : NaN);
  if (Number.isNaN(at.getTime())) throw new HttpError(400, `${name} must be a day (2030-01-31) or an RFC 3339 moment.`);
  if (DAY_ONLY.test(value)) at.setUTCDate(at.getUTCDate() + daysOn);
  return at.getTime();
}

/** `new Date` takes the 31st of any month for a day. */
function isDay(written: string): boolean {
  const at = new Date(written);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(written);
}
