import { id, integer, named, object, text, time } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { adminList, each } from '../hub/lists.ts';
import { errorEvents, type ErrorEvent } from './error-store.ts';

const ERROR_EVENT = named('ErrorEvent', object({
  id, program: text, message: text, stack: text, count: integer, firstAt: time, lastAt: time,
}));

export const errorList = adminList<ErrorEvent, 'lastAt' | 'id'>({
  name: 'errors',
  title: 'Errors',
  summary: 'Errors of the hub, grouped by kind, last seen first',
  key: ['lastAt', 'id'],
  select: (hub, { after, limit }) => errorEvents(hub).list(after, limit),
  shape: ERROR_EVENT,
  lead: () => html`
  <p class="lead">Unexpected errors of the hub itself, grouped by kind.</p>`,
  rows: each(item),
  empty: 'No errors.',
});

function item({ program, message, stack, count, firstAt, lastAt }: ErrorEvent, times: Times): Html {
  return html`
  <li><div>
    <p class="title">${message || 'An error without a message'}</p>
    <p class="meta"><span>${program}</span> <span>${count === 1 ? 'once' : `${count} times`}</span>
      <span>last ${showTime(times, lastAt)}</span> <span>first ${showTime(times, firstAt)}</span></p>
    <details><summary>Stack trace</summary><pre>${stack}</pre></details>
  </div></li>`;
}
