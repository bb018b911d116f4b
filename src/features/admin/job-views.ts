import { html, type Html } from '../../platform/http/html.ts';
import { moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { JobRow, JobState } from '../../platform/jobs/job-queue.ts';

/** `state` is undefined where all are shown. */
type JobList = { items: JobRow[]; next: string | null; state: JobState | undefined; states: JobState[] };

/** Jobs of one state, with what can be done about each. */
export function jobsPage({ items, next, state, states }: JobList): Page {
  const shown = state ?? 'all';
  const main = html`
<header class="page-head">
  <h1>Jobs</h1>
  <p class="meta">${[...states, 'all'].map((one) => choice(one, one === shown))}</p>
</header>
${items.length > 0 ? html`<ul class="rows">${items.map(item)}</ul>` : html`<p class="empty">No jobs here.</p>`}
${next && html`
<p class="more"><a class="button" rel="next" href="/admin/jobs?state=${shown}&amp;cursor=${next}">Older</a></p>`}`;
  return { title: 'Jobs', main, section: 'admin/jobs' };
}

function choice(state: string, isShown: boolean): Html {
  return isShown ? html`<strong>${state}</strong> ` : html`<a href="/admin/jobs?state=${state}">${state}</a> `;
}

function item(job: JobRow): Html {
  const { kind, dedupeKey, state, attempts, maxAttempts, lastError } = job;
  const subject = kind === 'sync-source' && dedupeKey
    ? html`<a href="/sources/${dedupeKey}">source ${dedupeKey}</a>`
    : html`${dedupeKey?.slice(0, 16)}`;
  return html`
  <li>
    <div><p class="title">${kind} ${subject}</p>
      <p class="meta"><span class="tag ${state === 'failed' && 'failing'}">${state}</span>
        <span>try ${attempts} of ${maxAttempts}</span> <span>${timeOf(job)}</span></p>
      ${lastError && html`<p class="summary">${lastError}</p>`}</div>
    ${buttons(job)}
  </li>`;
}

function timeOf({ state, runAt, finishedAt }: JobRow): Html {
  if (finishedAt !== null) return html`ended ${moment(finishedAt)}`;
  return html`${state === 'running' ? 'was due' : 'due'} ${moment(runAt)}`;
}

function buttons({ id, state }: JobRow): Html {
  const mayDiscard = ['failed', 'retrying', 'queued'].includes(state);
  return html`<div class="actions">
    ${state === 'failed' && html`<form method="post" action="/admin/jobs/${id}/retry">
      <button class="secondary" aria-label="Retry job ${id}">Retry</button></form>`}
    ${mayDiscard && html`<form method="post" action="/admin/jobs/${id}/discard">
      <button class="link" aria-label="Discard job ${id}">Discard</button></form>`}</div>`;
}
