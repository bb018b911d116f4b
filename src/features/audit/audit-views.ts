import { html, type Html } from '../../platform/http/html.ts';
import { moment } from '../../platform/http/readable.ts';
import type { AuditRecord } from './audit-store.ts';

/** A form that narrows the records down. */
export function auditForm(query: URLSearchParams, acts: string[]): Html {
  const chosen = query.get('act') ?? '';
  const isNarrowed = ['act', 'actor', 'target', 'from', 'to'].some((name) => query.get(name));
  return html`
<details class="panel" ${isNarrowed && html`open`}>
<summary>Filter</summary>
<form class="filter" action="/admin/audit">
  <label>Action
    <select name="act"><option value="">all</option>
      ${acts.map((act) => html`<option ${act === chosen && html`selected`}>${act}</option>`)}</select></label>
  <label>Actor <input name="actor" value="${query.get('actor')}" maxlength="200" autocapitalize="none"></label>
  <label>Target <input name="target" value="${query.get('target')}" maxlength="200" placeholder="source:12"
    autocapitalize="none"></label>
  <label>From day <input type="date" name="from" value="${day(query.get('from'))}"></label>
  <label>To day <input type="date" name="to" value="${day(query.get('to'))}"></label>
  <button>Apply</button>
</form>
</details>`;
}

function day(value: string | null): string {
  return (value ?? '').slice(0, 10);
}

/** Who did what to what. */
export function auditTable(items: AuditRecord[]): Html {
  return html`
<div class="wide stacked"><table>
  <thead><tr><th>Time</th><th>Actor</th><th>Action</th><th>Target</th><th>Address</th></tr></thead>
  <tbody>${items.map(row)}</tbody>
</table></div>`;
}

function row({ at, actorName, act, targetKind, targetId, targetName, address, detail }: AuditRecord): Html {
  const target = targetKind === null ? '' : `${targetKind}${targetId === null ? '' : ` ${targetId}`}`;
  return html`
  <tr><td>${moment(at)}</td><td>${actorName || 'not signed in'}</td><td><code>${act}</code></td>
    <td>${target} ${targetName && html`<span>“${targetName}”</span>`}
      ${detail !== '{}' && html`<small>${words(detail)}</small>`}</td>
    <td class="whole">${address}</td></tr>`;
}

/** {"role":"member"} → role: member */
function words(detail: string): string {
  return Object.entries(JSON.parse(detail) as object).map(([name, value]) => `${name}: ${value}`).join(', ');
}
